#include "live/engine/session/device_use.h"

#include <gtest/gtest.h>

#include "live/engine/session/session.h"
#include "support/plain_work.h"

namespace flopcast::live {
namespace {

constexpr Time use_us(std::int64_t n) { return Time::from_us(n); }

TEST(LiveBusyTime, OverlapsCountOnceAndWhatIsForgottenStaysInTheSum) {
  BusyTime busy;
  busy.add(use_us(10), use_us(20));
  busy.add(use_us(40), use_us(50));
  busy.add(use_us(15), use_us(30));  // another stream
  EXPECT_EQ(busy.within(use_us(0), use_us(100)), use_us(30));
  EXPECT_EQ(busy.within(use_us(18), use_us(45)), use_us(17));
  busy.forget(use_us(35));
  EXPECT_EQ(busy.size(), 1u);
  EXPECT_EQ(busy.until(use_us(45)), use_us(25));
  EXPECT_EQ(busy.within(use_us(35), use_us(100)), use_us(10));
}

/// Processes of one thread each, on nodes of two devices.
class WatchedRun {
 public:
  explicit WatchedRun(std::uint32_t ranks) : session(work, {use_us(4), use_us(3), use_us(5)}) {
    session.set_node(2);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      session.add_process(static_cast<std::int32_t>(rank));
      session.set_pid(rank, 1000 + rank);
    }
    numbers_.resize(ranks);
  }
  void say(std::uint32_t rank, Act act, std::uint64_t word = 0, std::uint16_t device = 0) {
    Record record;
    record.act = act;
    record.device = device;
    record.word[0] = word;
    say(rank, record);
  }
  void say(std::uint32_t rank, Record record) {
    record.number = numbers_[rank]++;
    const auto problem = session.take(rank, 0, record, "x");
    EXPECT_FALSE(problem) << problem->text();
  }
  void passes(std::uint32_t rank, std::int64_t us) {
    Record record;
    record.gap_ns = us * 1000;
    say(rank, record);
  }
  std::optional<std::uint64_t> asks(std::uint32_t rank, DeviceUse what, std::uint16_t device = 0,
                                    std::uint64_t which = 0) {
    Record record;
    record.act = Act::kAskUse;
    record.flags = kAnswerWanted;
    record.device = device;
    record.word[0] = static_cast<std::uint64_t>(what);
    record.word[1] = which;
    say(rank, record);
    const auto answers = session.advance();
    return answers.empty() ? std::nullopt : std::optional(answers.front().value);
  }

  PlainWork work;
  Session session;

 private:
  std::vector<std::uint32_t> numbers_;
};

TEST(LiveDeviceUse, IsTheShareOfTheTimeUntilNow) {
  WatchedRun run(1);
  run.say(0, Act::kKernel, 100);  // 4 to 104
  run.passes(0, 204);
  EXPECT_EQ(run.asks(0, DeviceUse::kComputes), 490'196'078u);  // of 204
  EXPECT_EQ(run.asks(0, DeviceUse::kBusyTime), 100'000'000u);
  run.say(0, Act::kCopy, 51);
  run.passes(0, 51);
  run.say(0, Act::kKernel, 1000);
  run.passes(0, 4 + 51);  // in the copy
  EXPECT_EQ(run.asks(0, DeviceUse::kBusyTime),
            151'000'000u);  // the kernel runs since 259, now it is 310
  run.passes(0, 2'000'000);
  EXPECT_EQ(run.asks(0, DeviceUse::kMoves), 0u);  // in the last second
  EXPECT_EQ(run.asks(0, DeviceUse::kBusyTime), 1'100'000'000u);
  EXPECT_EQ(run.asks(0, DeviceUse::kComputes, 1), 0u);  // another device
}

TEST(LiveDeviceUse, WhoWaitsForOthersInACollectiveIsBusy) {
  WatchedRun run(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Record made;
    made.act = Act::kMakeGroup;
    made.device = static_cast<std::uint16_t>(rank);
    made.word[0] = 77;
    made.word[1] = rank;
    made.word[2] = 2;
    run.say(rank, made);
  }
  Record call;
  call.act = Act::kCollective;
  call.word[0] = 77;
  call.word[2] = 10;
  call.word[3] = 1;
  run.say(0, call);  // on its stream at 4
  run.passes(0, 104);
  EXPECT_EQ(run.asks(0, DeviceUse::kBusyTime), std::nullopt);  // rank 1 may still come
  run.passes(1, 504);
  const auto answers = run.session.advance();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].value, 100'000'000u);
}

TEST(LiveDeviceUse, MemoryIsThatOfAllProcessesAtThatTime) {
  WatchedRun run(4);
  run.say(3, Act::kHolds, 7 << 20, 1);
  run.say(2, Act::kHolds, 1 << 20, 1);
  run.passes(2, 10);
  run.say(2, Act::kHolds, 3 << 20, 1);
  for (const std::uint32_t rank : {0, 1, 3}) run.passes(rank, 20);
  run.passes(2, 1);  // at 11
  EXPECT_EQ(run.asks(2, DeviceUse::kMemory, 1), std::uint64_t{10} << 20);
  EXPECT_EQ(run.asks(2, DeviceUse::kProcess, 1, 0), 1002u);
  EXPECT_EQ(run.asks(2, DeviceUse::kMemoryOf, 1, 1), std::uint64_t{7} << 20);
  EXPECT_EQ(run.asks(2, DeviceUse::kProcess, 1, 2), 0u);
  run.session.lose(3);
  run.passes(2, 30);
  for (const std::uint32_t rank : {0, 1}) run.passes(rank, 100);
  EXPECT_EQ(run.asks(2, DeviceUse::kMemory, 1), std::uint64_t{3} << 20);
  EXPECT_EQ(run.asks(2, DeviceUse::kMemory, 0), 0u);
  // The first node's are others.
  run.passes(2, 100);
  const auto of_first = run.session.use_of(0, 1, DeviceUse::kMemory, 0);
  ASSERT_TRUE(of_first);
  EXPECT_EQ(of_first->value, 0u);
}

TEST(LiveDeviceUse, WhoOnlyWatchesHearsWhatIsKnown) {
  WatchedRun run(2);
  run.say(0, Act::kKernel, 100);
  run.passes(0, 204);
  EXPECT_FALSE(run.session.use_of(0, 0, DeviceUse::kBusyTime, 0));  // rank 1 is behind
  run.passes(1, 300);
  const auto known = run.session.use_of(0, 0, DeviceUse::kBusyTime, 0);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->value, 100'000'000u);
}

}  // namespace
}  // namespace flopcast::live
