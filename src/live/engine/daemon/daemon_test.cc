#include "live/engine/daemon/daemon.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "live/standin/link/link.h"
#include "support/plain_work.h"

namespace flopcast::live {
namespace {

constexpr std::uint32_t kRanks = 3;

Record call(Act act, std::uint64_t first = 0) {
  Record record;
  record.act = act;
  record.duration_ns = 1000;
  record.stream = 5;
  record.word[0] = first;
  return record;
}

void join(Link& link, std::uint32_t rank) {
  Record make = call(Act::kMakeGroup, 77);
  make.signature = link.number("all");
  make.word[1] = rank;
  make.word[2] = kRanks;
  link.say(make);
  link.ask(call(Act::kWaitGroup, 77));
}

/// A step of data parallelism: kernels, an all-reduce, a wait; ranks are of different speed.
void train(Link& link, std::uint32_t rank, int steps) {
  for (int step = 0; step < steps; ++step) {
    link.spend(1500);
    for (int k = 0; k < 4; ++k) link.say(call(Act::kKernel, 10 + 7 * rank));
    Record reduce = call(Act::kCollective, 77);
    reduce.word[1] = static_cast<std::uint64_t>(Collective::kAllReduce) << 32;
    reduce.word[2] = 20;
    reduce.word[3] = 1;
    link.say(reduce);
    link.ask(call(Act::kWaitDevice));
  }
}

/// Runs `rank_main` in a process per rank; gives what each wrote to its pipe.
class LiveDaemonThreads : public testing::Test {
 protected:
  using Main = std::function<std::string(Link&, std::uint32_t)>;

  void start(const Main& rank_main) {
    daemon_ = std::move(*Daemon::listen(session_, {.devices = kRanks, .chips = kRanks}));
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      daemon_->expect(static_cast<std::int32_t>(rank));
    setenv(kSocketVariable, daemon_->name().c_str(), 1);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      int ends[2];
      ASSERT_EQ(pipe(ends), 0);
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        setenv("RANK", std::to_string(rank).c_str(), 1);
        const std::string text = rank_main(Link::get(), rank);
        _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                            : 1);
      }
      close(ends[1]);
      children_.push_back(child);
      pipes_.push_back(ends[0]);
    }
  }

  std::optional<Diagnostic> run() {
    while (daemon_->alive() > 0 && session_.deadlock().empty()) {
      if (auto problem = daemon_->step()) return problem;
    }
    return std::nullopt;
  }

  std::vector<std::string> wait() {
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < children_.size(); ++r) {
      char text[256] = {};
      const ssize_t size = read(pipes_[r], text, sizeof text);
      texts.emplace_back(text, size > 0 ? static_cast<std::size_t>(size) : 0);
      close(pipes_[r]);
      waitpid(children_[r], nullptr, 0);
    }
    return texts;
  }

  PlainWork work_;
  Session session_{work_};
  std::unique_ptr<Daemon> daemon_;
  std::vector<pid_t> children_;
  std::vector<int> pipes_;
};

TEST_F(LiveDaemonThreads, ProcessesSeeTheSameTimesInEveryRun) {
  const auto once = [] {
    struct Run : LiveDaemonThreads {
      void TestBody() override {}
      std::vector<std::string> all() {
        start([](Link& link, std::uint32_t rank) {
          join(link, rank);
          train(link, rank, 50);
          return std::to_string(link.now_ns());
        });
        EXPECT_FALSE(run());
        return wait();
      }
    } run;
    return run.all();
  };
  const std::vector<std::string> first = once();
  EXPECT_GT(std::stoll(first[0]), 50 * (4 * 24'000 + 20'000));
  for (int again = 0; again < 3; ++again) EXPECT_EQ(once(), first);
}

TEST_F(LiveDaemonThreads, AKilledRankIsNoticedAndWhoWaitsForItIsTold) {
  start([](Link& link, std::uint32_t rank) {
    join(link, rank);
    train(link, rank, 3);
    if (rank == 1) raise(SIGKILL);
    train(link, rank, 3);
    return std::string("done");
  });
  EXPECT_FALSE(run());
  EXPECT_EQ(daemon_->alive(), 2u);
  EXPECT_FALSE(session_.deadlock().empty());
  for (const pid_t child : children_) kill(child, SIGKILL);
  wait();
}

TEST_F(LiveDaemonThreads, RanksThatCallDifferentThingsAreNamed) {
  start([](Link& link, std::uint32_t rank) {
    join(link, rank);
    Record reduce = call(Act::kCollective, 77);
    reduce.word[1] = static_cast<std::uint64_t>(Collective::kAllReduce) << 32;
    reduce.word[2] = rank == 2 ? 8 : 16;
    reduce.word[3] = 1;
    link.say(reduce);
    link.ask(call(Act::kWaitDevice));
    return std::string();
  });
  const auto problem = run();
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->text().find("8 bytes"), std::string::npos) << problem->text();
  for (const pid_t child : children_) kill(child, SIGKILL);
  wait();
}

/// Not under ThreadSanitizer, where nobody tells stacks (link/teller.cc).
class LiveDaemonStacks : public LiveDaemonThreads {};

TEST_F(LiveDaemonStacks, WhoIsWaitedForIsNamedByItsFunctions) {
  start([](Link& link, std::uint32_t rank) {
    join(link, rank);
    if (rank == 1) pause();
    train(link, rank, 1);
    return std::string();
  });
  // Nothing of Python is here. Two ranks wait for the third, which is taken for one that stands still after a second.
  std::string who;
  for (int step = 0; step < 2000 && who.find("rank 1") == std::string::npos; ++step) {
    EXPECT_FALSE(daemon_->step());
    if (step % 50 == 49) who = daemon_->who_is_waited_for(10);
  }
  EXPECT_EQ(who.find("rank 1, thread "), 0u) << who;
  EXPECT_NE(who.find("pause (libc"), std::string::npos) << who;
  EXPECT_EQ(who.find("rank 0"), std::string::npos) << who;
  for (const pid_t child : children_) kill(child, SIGKILL);
  wait();
}

/// A process that keeps to the wire no more than it wants to.
class Stranger {
 public:
  Stranger(const Daemon& daemon, std::int32_t rank, std::size_t size = sizeof(Region)) {
    sockaddr_un address;
    const socklen_t length = socket_address(daemon.name(), address);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(ftruncate(memory_.get(), static_cast<off_t>(size)), 0);
    const Hello hello{Region::kVersion, getpid(), rank, 2, 0};
    EXPECT_TRUE(send_descriptor(socket_.get(), &hello, sizeof hello, memory_.get()));
    Hello back;
    welcome_ = static_cast<bool>(receive_descriptor(socket_.get(), &back, sizeof back));
    if (!welcome_) return;
    region_ = static_cast<Region*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_.get(), 0));
    region_->threads = 1;
  }
  ~Stranger() {
    if (region_) munmap(region_, sizeof(Region));
  }
  bool welcome() const { return welcome_; }
  Ring& ring() { return region_->rings[0]; }

 private:
  Descriptor socket_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Descriptor memory_{memfd_create("stranger", MFD_CLOEXEC)};
  Region* region_ = nullptr;
  bool welcome_ = false;
};

class LiveStrangerThreads : public testing::Test {
 protected:
  /// What a few steps find wrong.
  std::string problem() {
    for (int step = 0; step < 5; ++step) {
      if (const auto problem = daemon_->step()) return problem->text();
    }
    return {};
  }

  PlainWork work_;
  Session session_{work_};
  std::unique_ptr<Daemon> daemon_ =
      std::move(*Daemon::listen(session_, {.devices = 2, .chips = 2}));
  Doorbell bell_{};
};

TEST_F(LiveStrangerThreads, ARecordOfRubbishIsAnErrorOfItsRank) {
  Stranger stranger(*daemon_, 1);
  Record record = call(Act::kKernel);
  std::memset(&record.act, 0xa5, 1);
  stranger.ring().write(record, bell_);
  EXPECT_EQ(problem().find("rank 1: has sent a record of 165 as its act"), 0u);
}

TEST_F(LiveStrangerThreads, ARingOfRubbishIsAnErrorOfItsRank) {
  Stranger stranger(*daemon_, 0);
  std::memset(static_cast<void*>(&stranger.ring()), 0xff, 128);  // what the writer writes
  EXPECT_EQ(problem().find("rank 0: has more records waiting than there is room for"), 0u);
}

TEST_F(LiveStrangerThreads, WhoSharesTooLittleMemoryIsNotLetIn) {
  const Stranger small(*daemon_, 0, 4096);
  EXPECT_FALSE(small.welcome());
  EXPECT_EQ(problem(), "");
}

TEST_F(LiveStrangerThreads, ARankThatNoClusterHasIsTooMany) {
  const Stranger stranger(*daemon_, std::numeric_limits<std::int32_t>::max());
  EXPECT_NE(problem().find("starts 2147483648 ranks, and the cluster has 2 chips"),
            std::string::npos);
}

}  // namespace
}  // namespace flopcast::live
