#include "live/engine/daemon/quiet.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>

namespace flopcast::live {
namespace {

/// A process that runs a function, and is killed with the test.
class Outsider {
 public:
  explicit Outsider(const std::function<void()>& run) : pid_(::fork()) {
    if (pid_ != 0) return;
    run();
    ::_exit(0);
  }
  ~Outsider() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void compute_for_ever() {
  for (std::atomic<int> turns{0};; ++turns) {
  }
}

/// Whether it is quiet at last: processes need a moment to begin, and to end.
bool becomes_quiet(Quiet& quiet, const std::unordered_set<pid_t>& clocked = {}) {
  for (int i = 0; i < 2000; ++i) {
    if (quiet.look({}, clocked)) return true;
    ::usleep(1000);
  }
  return false;
}

TEST(LiveQuiet, WhoSleepsOrWaitsIsQuiet) {
  const Outsider sleeper([] { ::sleep(1000); });
  Quiet quiet;
  EXPECT_TRUE(becomes_quiet(quiet));
}

TEST(LiveQuiet, AChildOfAChildThatComputesIsNot) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Outsider parent([&] {
    const Outsider child(compute_for_ever);
    const pid_t pid = child.pid();
    static_cast<void>(!::write(ends[1], &pid, sizeof pid));
    ::sleep(1000);
  });
  pid_t computes = 0;
  ASSERT_EQ(::read(ends[0], &computes, sizeof computes), static_cast<ssize_t>(sizeof computes));
  Quiet quiet;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(quiet.look({}, {}));
  EXPECT_TRUE(becomes_quiet(quiet, {computes}));  // who only looks whether its time has come
  ::kill(computes, SIGKILL);
  EXPECT_TRUE(becomes_quiet(quiet));
  ::close(ends[0]);
  ::close(ends[1]);
}

// Two processes throw a byte to and fro: one of them always has something to do, but seldom does a walk meet it.
TEST(LiveQuiet, AMessageUnderWayIsNotMissed) {
  int to[2], fro[2];
  ASSERT_EQ(::pipe(to), 0);
  ASSERT_EQ(::pipe(fro), 0);
  const auto throw_on = [](int from, int on) {
    for (char byte = 0; ::read(from, &byte, 1) == 1;) static_cast<void>(!::write(on, &byte, 1));
  };
  const Outsider one([&] { throw_on(to[0], fro[1]); });
  const Outsider other([&] { throw_on(fro[0], to[1]); });
  Quiet quiet;
  EXPECT_TRUE(becomes_quiet(quiet));
  ASSERT_EQ(::write(to[1], "x", 1), 1);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(quiet.look({}, {}));
  for (const int end : {to[0], to[1], fro[0], fro[1]}) ::close(end);
}

TEST(LiveQuiet, AMessageBetweenMachinesIsOnItsWayUntilItIsAcknowledged) {
  Machines machines;
  machines.count = 2;
  machines.port = 29400;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint8_t address[4] = {10, 77, 0, static_cast<std::uint8_t>(i + 1)};
    std::memcpy(machines.addresses[i] + 12, address, sizeof address);
  }
  const auto line = [](const std::string& own, const std::string& peer, const std::string& rest,
                       uid_t user = ::geteuid()) {
    return "   3: " + own + " " + peer + " " + rest + " 01:00000014 00000000 " +
           std::to_string(user) + "        0 4711 1 0000000000000000 20 4 30 10 -1";
  };
  const std::string here = "01004D0A:1F90", there = "02004D0A:D431", outside = "05004D0A:D431";
  const auto is = [&](const std::string& text) { return is_under_way(text, machines); };
  EXPECT_TRUE(is(line(here, there, "01 00000005:00000000")));
  EXPECT_FALSE(is(line(here, there, "01 00000000:00000005"))) << "it has come, and is not read";
  EXPECT_TRUE(is(line(here, there, "02 00000000:00000000"))) << "it connects";
  EXPECT_FALSE(is(line(here, outside, "01 00000005:00000000"))) << "to no machine of the run";
  EXPECT_FALSE(is(line(here, here, "01 00000005:00000000"))) << "within this one";
  EXPECT_FALSE(is(line(here, "02004D0A:72D8", "01 00000005:00000000"))) << "the run's own";
  EXPECT_FALSE(is(line(here, there, "01 00000005:00000000", ::geteuid() + 1))) << "somebody else's";
  const std::string mapped = "0000000000000000FFFF0000";
  EXPECT_TRUE(is(line(mapped + here, mapped + there, "01 00000005:00000000")));
  EXPECT_FALSE(is("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt"));
}

}  // namespace
}  // namespace flopcast::live
