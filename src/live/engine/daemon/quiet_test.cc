#include "live/engine/daemon/quiet.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

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

}  // namespace
}  // namespace flopcast::live
