// Programs in virtual time, each a rank that this test starts again as a process of its own, with the core
// loaded before the C library.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "live/engine/daemon/daemon.h"
#include "live/wire/socket.h"
#include "support/plain_work.h"

/// Threads of this type live in real time, as those of the library do.
namespace gloo {
struct Loop {
  std::function<void()> run;
  void operator()() const { run(); }
};
}  // namespace gloo

namespace flopcast::live {
namespace {

constexpr const char* kProgramVariable = "FLOPCAST_CLOCK_PROGRAM";
constexpr std::int64_t kStart = 1'750'000'000;
constexpr std::int64_t kLong = 10'000;  ///< seconds that nobody waits for really

using std::chrono::seconds;

double monotonic() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Takes real time, and none of the program's: perturbs the order in which threads run.
void dawdle() {
  static const unsigned seed = static_cast<unsigned>(::getpid());
  static thread_local unsigned state = seed * 2654435761u + static_cast<unsigned>(::gettid());
  state = state * 1664525u + 1013904223u;
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < state >> 12; ++i) sum = sum + i;
}

/// Seconds since a program began, to the millisecond.
class Watch {
 public:
  std::string operator()() const {
    const long ms = std::lround((monotonic() - begin_) * 1e3);
    return std::to_string(ms) + "ms ";
  }

 private:
  double begin_ = monotonic();
};

std::string clocks_agree() {
  std::ostringstream text;
  timeval day{};
  ::gettimeofday(&day, nullptr);
  text << ::time(nullptr) - kStart << ' ' << day.tv_sec - kStart << ' ';
  const double before = monotonic();
  std::this_thread::sleep_for(seconds(kLong));
  const timespec later{static_cast<time_t>(before) + 2 * kLong, 0};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &later, nullptr);
  ::usleep(500'000);
  ::sleep(3);
  text << std::lround((monotonic() - static_cast<double>(later.tv_sec)) * 1e3) << "ms "
       << ::time(nullptr) - kStart << ' ';
  timespec cpu{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  text << cpu.tv_sec;
  return text.str();
}

std::string a_woken_thread_is_in_its_wakers_time() {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  const Watch watch;
  std::string text;
  std::thread waker([&] {
    dawdle();
    std::this_thread::sleep_for(seconds(kLong));
    const std::lock_guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready; });
    text += watch();
  }
  waker.join();
  return text + watch();
}

/// The consumer comes late in real time and early in virtual time, and so does not wait.
/// @param before it comes between the maker's letting go and its announcement, else after that
std::string what_is_announced_carries_its_time(bool before) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::atomic<bool> there{false};
  const Watch watch;
  std::string text;
  std::thread user([&] {
    while (!there) ::sched_yield();
    const std::lock_guard guard(mutex);
    text = ready ? watch() : "nothing ";
  });
  std::thread maker([&] {
    const double until = monotonic() + 0.05;
    while (monotonic() < until) {
    }
    {
      const std::lock_guard guard(mutex);
      ready = true;
    }
    if (before) there = true;
    for (int i = 0; before && i < 5; ++i) ::sched_yield();
    changed.notify_one();
    there = true;
  });
  user.join();
  maker.join();
  return text;
}

std::string semaphores_and_joins_carry_time() {
  sem_t full{}, empty{};
  ::sem_init(&full, 0, 0);
  ::sem_init(&empty, 0, 2);
  const Watch watch;
  std::string text;
  std::thread maker([&] {
    for (int i = 0; i < 5; ++i) {
      ::sem_wait(&empty);
      std::this_thread::sleep_for(seconds(10));
      dawdle();
      ::sem_post(&full);
    }
    std::this_thread::sleep_for(seconds(kLong));
  });
  for (int i = 0; i < 5; ++i) {
    ::sem_wait(&full);
    dawdle();
    text += watch();
    ::sem_post(&empty);
  }
  maker.join();
  return text + watch();
}

std::string waits_end_when_their_time_comes() {
  const Watch watch;
  std::string text;
  sem_t never{};
  ::sem_init(&never, 0, 0);
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += kLong;
  text += ::sem_timedwait(&never, &until) == -1 ? watch() : "posted ";
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  text += changed.wait_for(lock, seconds(20)) == std::cv_status::timeout ? watch() : "woken ";
  std::thread waker([&] {
    std::this_thread::sleep_for(seconds(5));
    const std::lock_guard guard(mutex);
    changed.notify_all();
  });
  text += changed.wait_for(lock, seconds(20)) == std::cv_status::timeout ? "late " : watch();
  lock.unlock();
  waker.join();
  std::promise<int> promise;
  std::thread keeper([&] {
    std::this_thread::sleep_for(seconds(30));
    promise.set_value(1);
  });
  promise.get_future().get();
  text += watch();
  keeper.join();
  text += std::to_string(::poll(nullptr, 0, 4000)) + ' ';
  return text + watch();
}

std::string threads_share_a_flag_by_looking_at_it() {
  std::atomic<bool> done{false};
  const Watch watch;
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1234));
    done = true;
  });
  while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string text = watch();
  setter.join();
  const double end = monotonic() + 0.25;
  while (monotonic() < end) {
  }
  return text + (monotonic() - end < 0.001 ? "looked" : "overslept");
}

/// A child of a rank has a time of its own.
/// The second message has been there for long when it is read; the first has not.
std::string a_forked_child_begins_at_its_parents_time() {
  const Watch watch;
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  std::this_thread::sleep_for(seconds(5));
  if (::fork() == 0) {
    std::this_thread::sleep_for(seconds(kLong));
    const std::string text = watch();
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  char text[64] = {};
  if (::read(ends[0], text, sizeof text - 1) < 0) return "nothing read";
  ::wait(nullptr);
  return std::string(text) + watch();
}

/// A child of this process; it ends as `work` does.
template <typename Work>
pid_t child_that(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  return child;
}

/// What is read was written when it was, however late it is read; no message's time is another one's.
std::string each_message_has_its_time() {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const Watch watch;
  const pid_t child = child_that([&] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(seconds(10));
      dawdle();
      if (::write(ends[1], "message", 7) != 7) return false;
    }
    std::this_thread::sleep_for(seconds(kLong));
    return true;
  });
  std::string text;
  char byte[7];
  for (int i = 0; i < 3; ++i) {
    dawdle();
    if (::read(ends[0], byte, sizeof byte) != sizeof byte) return "nothing read";
    text += watch();
    if (i == 0) std::this_thread::sleep_for(seconds(15));
  }
  pollfd wanted{ends[0], POLLIN, 0};
  text += ::poll(&wanted, 1, 5000) == 0 ? watch() : "read ";
  ::waitpid(child, nullptr, 0);
  return text + watch();
}

/// A thread in real time hands on what another process sends, and others notify whatever there is all the time: who waits
/// holds nobody up, and is woken by its own condition alone.
std::string who_waits_is_not_kept_by_the_notifications_of_others() {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const Watch watch;
  const pid_t child = child_that([&] {
    std::this_thread::sleep_for(seconds(kLong));
    return ::write(ends[1], "!", 1) == 1;
  });
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::atomic<bool> over{false};
  std::vector<std::condition_variable> others(10'000);
  std::thread loop(gloo::Loop{[&] {
    char byte = 0;
    while (::read(ends[0], &byte, 1) != 1) {
    }
    const std::lock_guard guard(mutex);
    ready = true;
    changed.notify_all();
  }});
  std::thread noise(gloo::Loop{[&] {
    for (; !over; ::usleep(10'000)) {
      for (std::condition_variable& other : others) other.notify_all();
    }
  }});
  int looks = 0;
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return looks++, ready; });
  }
  const std::string text = watch() + std::to_string(looks);
  over = true;
  loop.join();
  noise.join();
  ::waitpid(child, nullptr, 0);
  return text;
}

/// Who finds no room goes on when there is some; of a pair of sockets as of a pipe.
std::string who_finds_no_room_waits() {
  std::string text;
  for (const bool sockets : {false, true}) {
    int ends[2];
    if ((sockets ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : ::pipe(ends)) != 0) return "none";
    const Watch watch;
    const std::string message(1'000'000, 'x');
    const pid_t child = child_that([&] {
      const std::int64_t begin = std::lround(monotonic());
      if (::write(ends[1], message.data(), message.size()) != static_cast<ssize_t>(message.size()))
        return false;
      return std::lround(monotonic()) - begin == 100;
    });
    std::this_thread::sleep_for(seconds(100));
    std::string all(message.size(), ' ');
    for (std::size_t got = 0; got < all.size();) {
      const ssize_t part = ::read(ends[0], all.data() + got, all.size() - got);
      if (part <= 0) return "nothing read";
      got += static_cast<std::size_t>(part);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    text += watch() + (all == message ? std::to_string(status) : "other bytes") + " ";
  }
  return text;
}

/// Each post's token has its own time; a lock that processes share hands none over, but who waits for it waits.
std::string shared_semaphores_carry_time() {
  const std::string name = "/flopcast-test-" + std::to_string(::getpid());
  const auto make = [&name](unsigned value) {
    sem_t* const made = ::sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, value);
    ::sem_unlink(name.c_str());
    return made;
  };
  sem_t* const told = make(0);
  sem_t* const lock = make(1);
  const Watch watch;
  const pid_t child = child_that([&] {
    ::sem_wait(lock);
    std::this_thread::sleep_for(seconds(10));
    ::sem_post(lock);
    for (int i = 0; i < 2; ++i) {
      std::this_thread::sleep_for(seconds(10));
      ::sem_post(told);
    }
    return true;
  });
  std::string text;
  std::this_thread::sleep_for(seconds(5));
  ::sem_wait(lock);
  text += watch();
  ::sem_post(lock);
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 5;
  text += ::sem_timedwait(told, &until) == 0 ? "told " : watch();
  ::sem_wait(told);
  text += watch();
  std::this_thread::sleep_for(seconds(30));
  ::sem_wait(told);
  text += watch();
  ::waitpid(child, nullptr, 0);
  return text + watch();
}

/// What closes all that it finds open goes on; the line to the engine is none of it.
std::string descriptors_are_closed() {
  const Watch watch;
  const int opened = ::open("/dev/null", O_RDONLY);
  ::closefrom(4);
  std::this_thread::sleep_for(seconds(kLong));
  return watch() + (::fcntl(opened, F_GETFD) < 0 ? "closed" : "open");
}

constexpr int kFirstOfLine = 4;  ///< what the program writes to is before it

/// How a program cuts its line, which by the kernel's own call nobody can keep, ...
const std::map<std::string, std::function<void()>> kCuts = {
    {"close", [] { ::syscall(SYS_close_range, kFirstOfLine, ~0U, 0U); }},
    {"replace",
     [] {
       for (int own = kFirstOfLine; own < 32; ++own) ::dup2(0, own);
     }},
    {"shut",
     [] {
       for (int own = kFirstOfLine; own < 32; ++own) ::shutdown(own, SHUT_RDWR);
     }},
    {"half",
     [] {
       for (int own = kFirstOfLine; own < 32; ++own) ::shutdown(own, SHUT_RD);
     }},
};

/// ... and what it is about to do.
const std::map<std::string, std::function<void()>> kGoesOn = {
    {"sleep", [] { std::this_thread::sleep_for(seconds(kLong)); }},
    {"wait",
     [] {
       std::mutex mutex;
       std::condition_variable never;
       std::unique_lock lock(mutex);
       never.wait_for(lock, seconds(kLong), [] { return false; });
     }},
    {"thread", [] { std::thread([] { std::this_thread::sleep_for(seconds(1)); }).join(); }},
    {"look",
     [] {
       for (const Watch watch; watch() == "0ms ";) ::sched_yield();
     }},
    {"end", [] {}},
    {"exit", [] { std::exit(0); }},
    {"quick exit", [] { std::_Exit(0); }},
};

/// @param name how, and where: "close sleep"
std::string the_line_is_cut(const std::string& name) {
  const Watch watch;
  std::this_thread::sleep_for(seconds(1));  // it is there
  const std::size_t blank = name.find(' ');
  kCuts.at(name.substr(0, blank))();
  kGoesOn.at(name.substr(blank + 1))();
  return watch();
}

const std::map<std::string, std::function<std::string()>> kPrograms = {
    {"clocks", clocks_agree},
    {"woken", a_woken_thread_is_in_its_wakers_time},
    {"announced", [] { return what_is_announced_carries_its_time(false); }},
    {"about to be", [] { return what_is_announced_carries_its_time(true); }},
    {"semaphores", semaphores_and_joins_carry_time},
    {"noise", who_waits_is_not_kept_by_the_notifications_of_others},
    {"timed", waits_end_when_their_time_comes},
    {"flag", threads_share_a_flag_by_looking_at_it},
    {"fork", a_forked_child_begins_at_its_parents_time},
    {"messages", each_message_has_its_time},
    {"room", who_finds_no_room_waits},
    {"tokens", shared_semaphores_carry_time},
    {"closed", descriptors_are_closed},
};

/// The process that the tests below start.
TEST(LiveClockProgram, Runs) {
  const char* const name = std::getenv(kProgramVariable);
  if (!name) GTEST_SKIP() << "started by the tests of the clock";
  const auto program = kPrograms.find(name);
  const std::string text = program != kPrograms.end() ? program->second() : the_line_is_cut(name);
  ::_exit(::write(3, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

class LiveClockThreads : public testing::Test {
 protected:
  /// How a program ended.
  struct Ended {
    int status = -1;  ///< as waitpid says it
    std::string text, errors;
    bool for_want_of(std::string_view reason) const {
      return WIFEXITED(status) && WEXITSTATUS(status) == 3 &&
             errors.find(reason) != std::string::npos;
    }
  };

  /// A program that was started as the one rank of a cluster.
  class Started {
   public:
    Started(const std::string& name, const std::string& engine) {
      EXPECT_EQ(::pipe(out_), 0);
      EXPECT_EQ(::pipe(errors_), 0);
      child_ = ::fork();
      if (child_ == 0) start(name, engine, out_[1], errors_[1]);
      ::close(out_[1]);
      ::close(errors_[1]);
    }
    /// Whether it has ended.
    bool has_ended() { return ::waitpid(child_, &ended_.status, WNOHANG) == child_; }
    /// What is left to tell of one that has.
    Ended ended() {
      ended_.text = all_of(out_[0]);
      ended_.errors = all_of(errors_[0]);
      return ended_;
    }
    Ended wait() {
      ::waitpid(child_, &ended_.status, 0);
      return ended();
    }

   private:
    static std::string all_of(int end) {
      std::string all;
      char part[512];
      for (ssize_t size; (size = ::read(end, part, sizeof part)) > 0;)
        all.append(part, static_cast<std::size_t>(size));
      ::close(end);
      return all;
    }
    int out_[2], errors_[2];
    pid_t child_ = -1;
    Ended ended_;
  };

  /// What the program writes, run as the one rank of a cluster.
  static std::string run(const std::string& name) { return follow(name).text; }

  static Ended follow(const std::string& name) {
    PlainWork work;
    Session session(work);
    MachineFacts machine;
    machine.start_ns = kStart * 1'000'000'000;
    const auto daemon = std::move(*Daemon::listen(session, machine));
    daemon->expect(0);
    Started program(name, daemon->name());
    while (!program.has_ended()) {
      const auto problem = daemon->step();
      EXPECT_FALSE(problem) << problem->text();
    }
    return program.ended();
  }

 private:
  [[noreturn]] static void start(const std::string& name, const std::string& engine, int out,
                                 int errors) {
    ::dup2(errors, 2);
    ::dup2(out, 3);
    ::syscall(SYS_close_range, kFirstOfLine, ~0U, 0U);
    ::setenv(kSocketVariable, engine.c_str(), 1);
    ::setenv("RANK", "0", 1);
    ::setenv("LD_PRELOAD", FLOPCAST_LIVE_CORE, 1);
    ::setenv(kProgramVariable, name.c_str(), 1);
    ::unsetenv("GTEST_TOTAL_SHARDS");  // its one test is in no shard but the first
    ::unsetenv("GTEST_SHARD_INDEX");
    ::execl("/proc/self/exe", "clock", "--gtest_filter=LiveClockProgram.Runs", nullptr);
    ::_exit(127);
  }
};

TEST_F(LiveClockThreads, ClocksGoOnTogetherAndSleepsTakeNoRealTime) {
  EXPECT_EQ(run("clocks"), "0 0 3500ms 20003 0");
}

TEST_F(LiveClockThreads, AWokenThreadIsInItsWakersTime) {
  EXPECT_EQ(run("woken"), "10000000ms 10000000ms ");
}

TEST_F(LiveClockThreads, WhoFindsAChangeIsInTheTimeOfWhoAnnouncedIt) {
  EXPECT_EQ(run("announced"), "50ms ");
}

TEST_F(LiveClockThreads, WhoComesBeforeTheAnnouncementIsInItsTime) {
  for (int again = 0; again < 10; ++again) EXPECT_EQ(run("about to be"), "50ms ");
}

TEST_F(LiveClockThreads, SemaphoresAndJoinsCarryTimeInEveryRun) {
  for (int again = 0; again < 10; ++again) {
    EXPECT_EQ(run("semaphores"), "10000ms 20000ms 30000ms 40000ms 50000ms 10050000ms ");
  }
}

TEST_F(LiveClockThreads, WhoWaitsIsNotKeptByTheNotificationsOfOthers) {
  EXPECT_EQ(run("noise"), "10000000ms 2");  // looks, one before it waits
}

TEST_F(LiveClockThreads, TimedWaitsEndInVirtualTime) {
  EXPECT_EQ(run("timed"), "10000000ms 10020000ms 10025000ms 10055000ms 0 10059000ms ");
}

TEST_F(LiveClockThreads, LoopsThatSleepOrLookSeeTheirTimeCome) {
  EXPECT_EQ(run("flag"), "1300ms looked");
}

TEST_F(LiveClockThreads, AProgramThatClosesEverythingGoesOn) {
  EXPECT_EQ(run("closed"), "10000000ms closed");
}

/// It could go on in the memory that it shares with the engine, and end as if it had been heard.
TEST_F(LiveClockThreads, AProgramThatCutsItsLineEndsAndSaysSoWhereverItIs) {
  for (const auto& [how, cut] : kCuts) {
    for (const auto& [where, goes_on] : kGoesOn) {
      const Ended ended = follow(how + " " + where);
      EXPECT_TRUE(ended.for_want_of("line to the simulated cluster"))
          << how << " " << where << ": " << ended.status << " " << ended.text << ended.errors;
    }
  }
}

/// An engine that is gone before a program has its answer.
TEST_F(LiveClockThreads, AProgramThatNobodyAnswersEndsAndSaysSo) {
  PlainWork work;
  Session session(work);
  MachineFacts machine;
  machine.start_ns = kStart * 1'000'000'000;
  auto daemon = std::move(*Daemon::listen(session, machine));
  Started program("clocks", daemon->name());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(program.has_ended());
  daemon.reset();
  const Ended ended = program.wait();
  EXPECT_TRUE(ended.for_want_of("the simulated cluster is gone")) << ended.errors;
}

/// The same while the line is being opened: of the engine's greeting comes nothing, or a part.
TEST_F(LiveClockThreads, AProgramThatIsHalfGreetedEndsAndSaysSo) {
  for (const std::size_t part : {std::size_t{0}, std::size_t{1}, sizeof(Hello) - 1}) {
    const std::string name = "flopcast-half-" + std::to_string(::getpid());
    sockaddr_un address;
    const socklen_t size = socket_address(name, address);
    const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    Started program("clocks", name);
    {
      const Descriptor line(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      Hello hello;
      const Descriptor memory = receive_descriptor(line.get(), &hello, sizeof hello);
      EXPECT_TRUE(memory);
      EXPECT_TRUE(part == 0 || send_descriptor(line.get(), &hello, part, memory.get()));
    }
    const Ended ended = program.wait();
    EXPECT_TRUE(ended.for_want_of("the simulated cluster is gone")) << part << ended.errors;
  }
}

TEST_F(LiveClockThreads, WhatProcessesHandOverHasItsTimeInEveryRun) {
  for (int again = 0; again < 10; ++again) {
    EXPECT_EQ(run("messages"), "10000ms 25000ms 30000ms 35000ms 10030000ms ");
    EXPECT_EQ(run("tokens"), "10000ms 15000ms 20000ms 50000ms 50000ms ");
  }
  EXPECT_EQ(run("room"), "100000ms 0 100000ms 0 ");
}

TEST_F(LiveClockThreads, AForkedChildBeginsAtItsParentsTime) {
  EXPECT_EQ(run("fork"), "10005000ms 10005000ms ");
}

}  // namespace
}  // namespace flopcast::live
