#include "live/engine/session/session.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "support/plain_work.h"
#include "support/session_script.h"

namespace flopcast::live {
namespace {

using namespace test;  // scripts

/// One process of one thread, told record by record.
class One {
 public:
  One() : session(work, kTimes) { session.add_process(0); }
  void say(Record record, std::uint32_t thread = 0) {
    record.number = number_++;
    const auto problem = session.take(0, thread, record, "x");
    EXPECT_FALSE(problem) << problem->text();
  }
  SessionAnswer answer() {
    const std::vector<SessionAnswer> answers = session.advance();
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? SessionAnswer() : answers.front();
  }
  PlainWork work;
  Session session;

 private:
  std::uint32_t number_ = 0;
};

TEST(LiveSession, AThreadWaitsForItsKernels) {
  One one;
  one.say(kernel(5, 100));  // called 1 to 2, runs 5 to 105
  one.say(kernel(5, 10));   // runs until 115
  one.say(wait_device());
  EXPECT_EQ(one.answer().at, us(118));
}

TEST(LiveSession, TheDefaultStreamWaitsForOthersAndTheyForIt) {
  One one;
  one.say(kernel(5, 100));  // 5 to 105
  one.say(kernel(0, 10));   // 105 to 115
  one.say(kernel(6, 20));   // 115 to 135
  Record aloof = call(Act::kMakeStream);
  aloof.stream = 7;
  aloof.word[1] = 1;
  one.say(aloof);
  one.say(kernel(7, 1));
  one.say(with_event(Act::kRecordEvent, 1, 7));
  one.say(with_event(Act::kWaitEvent, 1));
  EXPECT_LT(one.answer().at, us(30));
  one.say(wait_device());
  EXPECT_EQ(one.answer().at, us(138));
}

TEST(LiveSession, ProductsOfSeveralStreamsTakeTheirTurns) {
  One one;
  one.work.fills_from = 50;
  for (int i = 0; i < 4; ++i) {
    one.say(kernel(5, 100));
    one.say(kernel(6, 100));
    one.say(kernel(7, 30));  // runs beside them
  }
  one.say(with_event(Act::kRecordEvent, 1, 7));
  one.say(with_event(Act::kWaitEvent, 1));
  EXPECT_LT(one.answer().at, us(150));
  one.say(wait_device());
  // The first is over before another stream has any: seven in turn from 7 us on, where one could start.
  EXPECT_EQ(one.answer().at, us(7 + 700 + 3));
}

TEST(LiveSession, AProductThatWaitsForAnotherRankLetsOthersGoFirst) {
  PlainWork work;
  work.fills_from = 50;
  const Script script = {{communicator(0, 2), wait_group(), kernel(5, 100), kernel(6, 100),
                          collective(Collective::kAllReduce, 10, 5), kernel(5, 100), kernel(6, 100),
                          kernel(6, 100), wait_device()},
                         {communicator(1, 2), wait_group(), kernel(5, 4000),
                          collective(Collective::kAllReduce, 10, 5), wait_device()}};
  Session session(work, kTimes);
  std::mt19937 random(1);
  const Announced told = play(script, session, random);
  const Time first = std::get<0>(told[0].back()), second = std::get<0>(told[1].back());
  EXPECT_EQ(first, second + us(100));  // the other stream's three are long over
}

TEST(LiveSession, WhatTheEndOfATransferLetsStartMayEndBeforeAQuestion) {
  Record late = with_event(Act::kAskEvent, 1);
  late.gap_ns = 10'000'000;
  const Record reduced = collective(Collective::kAllReduce, 10, 5);
  const Script script = {{communicator(0, 2), wait_group(), reduced, reduced,
                          with_event(Act::kRecordEvent, 1, 5), late},
                         {communicator(1, 2), wait_group(), reduced, reduced, wait_device()}};
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    PlainWork work;
    Session session(work, kTimes);
    std::mt19937 random(seed);
    EXPECT_EQ(std::get<2>(play(script, session, random)[0].back()), 1u) << seed;
  }
}

TEST(LiveSession, EventsOrderStreamsAndMeasureTime) {
  One one;
  one.say(with_event(Act::kRecordEvent, 1, 5));
  one.say(kernel(5, 100));
  one.say(with_event(Act::kRecordEvent, 2, 5));
  one.say(with_event(Act::kStreamWaitsEvent, 2, 6));
  one.say(kernel(6, 50));
  one.say(with_event(Act::kRecordEvent, 3, 6));
  Record elapsed = with_event(Act::kElapsed, 1);
  elapsed.word[1] = 3;
  one.say(elapsed);
  EXPECT_EQ(one.answer().status, static_cast<std::uint32_t>(EAGAIN));
  one.say(with_event(Act::kAskEvent, 3));
  EXPECT_EQ(one.answer().value, 0u);
  one.say(with_event(Act::kWaitEvent, 3));
  one.answer();
  one.say(with_event(Act::kAskEvent, 3));
  EXPECT_EQ(one.answer().value, 1u);
  one.say(elapsed);
  // 2 us pass between the first event and the call of the first kernel.
  EXPECT_EQ(one.answer().value, static_cast<std::uint64_t>(us(152).ps));
}

/// A thread that the first one made after so many records.
Record thread_start(std::uint64_t records, std::uint64_t name = 1) {
  Record record;
  record.act = Act::kThreadStart;
  record.word[1] = records;
  record.word[3] = name;
  return record;
}
Record woken_by_first(std::uint64_t records, std::uint64_t after_us = 0) {
  Record record;
  record.act = Act::kWoken;
  record.word[1] = records;
  record.word[2] = after_us * 1000;
  return record;
}
Record until(Act act, std::uint64_t microseconds) {
  Record record = call(act, 0, 0);
  record.flags = kAnswerWanted;
  record.word[0] = microseconds * 1000;
  return record;
}

TEST(LiveSession, AWokenThreadIsInItsWakersTime) {
  One one;
  one.say(call(Act::kMark, 50));  // until 51
  one.say(thread_start(1), 1);
  one.say(call(Act::kIdle, 0, 0), 1);
  one.say(call(Act::kMark, 50));  // until 102
  EXPECT_EQ(one.session.horizon(), us(102));
  one.say(woken_by_first(2, 7), 1);
  one.say(call(Act::kMark, 1000));
  EXPECT_EQ(one.session.horizon(), us(109));  // 102 + 7: the woken one is there
  one.say(kernel(5, 10), 1);
  one.say(wait_device(), 1);
  // +1+4 to launch, 10 to run, 3 to wake.
  EXPECT_EQ(one.answer().at, us(127));
}

TEST(LiveSession, ASleepEndsWhenNobodyCanDoAnythingBefore) {
  One one;
  one.say(call(Act::kMark, 0, 0));
  one.say(thread_start(1), 1);
  one.say(until(Act::kSleep, 100), 1);
  EXPECT_TRUE(one.session.advance().empty());  // the first thread is at 0
  one.say(call(Act::kMark, 99, 1));            // at 100, and first by name
  EXPECT_TRUE(one.session.advance().empty());
  one.say(call(Act::kMark, 1, 0));
  const SessionAnswer answer = one.answer();
  EXPECT_EQ(answer.at, us(100));
  EXPECT_EQ(answer.status, 0u);
}

TEST(LiveSession, WhoStandsStillUntilATimeIsToldWhetherItWasWoken) {
  One one;
  one.say(call(Act::kMark, 0, 0));
  one.say(thread_start(1), 1);
  one.say(until(Act::kIdle, 100), 1);
  EXPECT_TRUE(one.session.advance().empty());
  one.say(call(Act::kMark, 49, 1));
  one.say(woken_by_first(2), 1);
  SessionAnswer answer = one.answer();
  EXPECT_EQ(answer.at, us(50));
  EXPECT_EQ(answer.status, 0u);
  one.say(until(Act::kIdle, 100), 1);
  one.say(call(Act::kIdle, 0, 0));
  answer = one.answer();
  EXPECT_EQ(answer.at, us(150));
  EXPECT_EQ(answer.status, static_cast<std::uint32_t>(ETIMEDOUT));
}

TEST(LiveSession, WhoIsWokenFromOutsideGoesOnWhereTheRunIs) {
  One one;
  one.say(call(Act::kIdle, 0, 0));
  one.say(thread_start(1), 1);
  one.say(until(Act::kSleep, 1000), 1);
  EXPECT_EQ(one.answer().at, us(1000));
  Record woken = woken_by_first(0);
  woken.flags = kAnswerWanted;
  one.say(woken);
  EXPECT_EQ(one.answer().at, us(1000));
}

/// A rank, and a child of it, each of one thread.
class Kinship {
 public:
  Kinship() : session_(work_, kTimes) {
    session_.add_process(0);
    child_ = session_.add_child(0);
  }
  void say(std::uint32_t process, Record record) {
    record.number = numbers_[process]++;
    const auto problem = session_.take(process, 0, record, "x");
    EXPECT_FALSE(problem) << problem->text();
  }
  /// The child begins at 10.
  void begin() {
    Record fork = call(Act::kFork, 10, 0);
    fork.word[0] = child_;
    fork.flags = kAnswerWanted;
    say(0, fork);
    EXPECT_EQ(answers(), (Answers{{0, us(10), 0}}));
  }
  using Answers = std::vector<std::tuple<std::uint32_t, Time, std::uint32_t>>;
  /// Process, time and status of each.
  Answers answers() {
    Answers all;
    for (const SessionAnswer& one : session_.advance())
      all.emplace_back(one.process, one.at, one.status);
    return all;
  }
  Session& session() { return session_; }

 private:
  PlainWork work_;
  Session session_;
  std::uint32_t child_ = 0, numbers_[2] = {};
};

Record at_channel(Act act, std::uint64_t count) {
  Record record = call(act, 0, 0);
  record.word[0] = 7;
  record.word[1] = count;
  return record;
}

TEST(LiveSession, AChildBeginsWhereItsParentIsAndHoldsNobodyUpBefore) {
  Kinship family;
  family.say(0, until(Act::kSleep, 5));
  EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(5), 0}}));
  Record fork = call(Act::kFork, 10, 0);
  fork.word[0] = 1;
  fork.flags = kAnswerWanted;
  family.say(0, fork);
  EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(15), 0}}));
  family.say(0, until(Act::kSleep, 100));
  EXPECT_TRUE(family.answers().empty());  // the child is at 15
  family.say(1, until(Act::kSleep, 20));
  EXPECT_EQ(family.answers(), (Kinship::Answers{{1, us(35), 0}}));
  family.session().lose(1);
  EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(115), 0}}));
  fork.number = 3;
  EXPECT_TRUE(family.session().take(0, 0, fork, "x"));  // it has begun already
}

/// The waker's record and the waiter's come by two rings, in either order.
TEST(LiveSession, WhoWaitsAtAChannelRunsFromTheWakersTimeOn) {
  for (const bool waker_first : {false, true}) {
    Kinship family;
    family.begin();
    const auto wait = [&] {
      family.say(1, at_channel(Act::kWaitsFor, 0));
      family.say(1, until(Act::kIdle, 100));
    };
    if (!waker_first) wait();
    family.say(0, until(Act::kSleep, 50));
    if (!waker_first) EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(60), 0}}));
    if (waker_first) EXPECT_TRUE(family.answers().empty());  // the child may still do something
    Record wakes = at_channel(Act::kWakes, 1);
    if (waker_first) wait();
    if (waker_first) EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(60), 0}}));
    family.say(0, wakes);
    family.say(0, until(Act::kSleep, 500));
    EXPECT_TRUE(
        family.answers().empty());  // the child goes on at 60: its time-out at 110 does not come
    Record woken = at_channel(Act::kWoken, 1);
    woken.word[0] = ~std::uint32_t{0};
    woken.word[3] = 60'000;
    family.say(1, woken);
    EXPECT_EQ(family.answers(), (Kinship::Answers{{1, us(60), 0}}));
    // It knows of that wake, and nobody comes any more.
    family.say(1, at_channel(Act::kWaitsFor, 1));
    family.say(1, until(Act::kIdle, 40));
    EXPECT_EQ(family.answers(), (Kinship::Answers{{1, us(100), ETIMEDOUT}}));
  }
}

/// One rank needs the bytes of a collective, the other one waits for its child to hand it something.
TEST(LiveSession, ARankThatWaitsForItsChildIsNotOutsideTheRun) {
  PlainWork work;
  Session session(work, kTimes);
  std::uint32_t numbers[3] = {};
  const auto say = [&](std::uint32_t process, Record record) {
    record.number = numbers[process]++;
    EXPECT_FALSE(session.take(process, 0, record, "x"));
  };
  for (std::uint32_t rank = 0; rank < 2; ++rank) session.add_process(static_cast<int>(rank));
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    say(rank, communicator(rank, 2));
    say(rank, wait_group());
  }
  EXPECT_EQ(session.advance().size(), 2u);
  say(0, collective(Collective::kAllReduce, 16, 5));
  Record settles = call(Act::kSettle);
  settles.flags = kAnswerWanted;
  settles.word[0] = 77;
  say(0, settles);
  Record fork = call(Act::kFork, 10, 0);
  fork.word[0] = session.add_child(1);
  fork.flags = kAnswerWanted;
  say(1, fork);
  EXPECT_EQ(session.advance().size(), 1u);
  say(1, at_channel(Act::kWaitsFor, 0));
  say(1, until(Act::kIdle, 5'000'000));
  say(2, until(Act::kSleep, 3'000));
  const std::vector<SessionAnswer> slept = session.advance();
  ASSERT_EQ(slept.size(), 1u);
  EXPECT_EQ(slept.front().process, 2u);
  EXPECT_LT(slept.front().at, us(4'000));
}

TEST(LiveSession, WhoWaitsAtAChannelUntilATimeBeforeTheWakersWaitsInVain) {
  Kinship family;
  family.begin();
  family.say(0, call(Act::kMark, 90, 0));  // at 100
  family.say(0, at_channel(Act::kWakes, 1));
  family.say(1, at_channel(Act::kWaitsFor, 0));
  family.say(1, until(Act::kIdle, 40));
  EXPECT_EQ(family.answers(), (Kinship::Answers{{1, us(50), ETIMEDOUT}}));
}

/// What they hand over in memory nobody sees, so none goes on while another may still do something before.
TEST(LiveSession, ProcessesThatServeEachOtherActInTurn) {
  for (const bool in_turn : {false, true}) {
    Kinship family;
    family.begin();
    Record waits = at_channel(Act::kWaitsFor, 0);
    waits.word[2] = in_turn ? 1 : 0;
    for (const std::uint32_t process : {0u, 1u}) family.say(process, waits);
    Record turn = call(Act::kTurn, 0, 0);
    turn.flags = kAnswerWanted;
    family.say(0, turn);
    if (!in_turn) {
      EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(10), 0}}));
      continue;
    }
    EXPECT_TRUE(family.answers().empty());  // the child is at 10, too
    family.say(1, call(Act::kMark, 30, 0));
    EXPECT_EQ(family.answers(), (Kinship::Answers{{0, us(10), 0}}));
    family.say(1, turn);
    EXPECT_TRUE(family.answers().empty());  // the parent is at 10
    family.say(0, call(Act::kMark, 29, 0));
    EXPECT_TRUE(family.answers().empty());
    family.say(0, call(Act::kIdle, 0, 0));
    EXPECT_EQ(family.answers(), (Kinship::Answers{{1, us(40), 0}}));
    family.say(0, call(Act::kWoken, 0, 0));
    family.say(1, turn);
    EXPECT_TRUE(family.answers().empty());  // the parent runs again, at 39
    family.session().let_out_of_turn();
    EXPECT_EQ(family.answers(), (Kinship::Answers{{1, us(40), 0}}));
  }
}

TEST(LiveSession, HelpersHoldNobodyUpAndAreToldHowFarItIs) {
  One one;
  one.say(kernel(5, 100));
  one.say(with_event(Act::kRecordEvent, 1, 5));
  Record question = with_event(Act::kAskEvent, 1);
  question.flags |= kOfHelper;
  one.say(question, 1);
  EXPECT_EQ(one.answer().value, 0u);
  one.say(with_event(Act::kWaitEvent, 1));
  EXPECT_EQ(one.answer().at, us(108));
  EXPECT_EQ(one.session.horizon(), us(108));
  // The program runs, and might learn of the answer sooner or later: it comes when all stands still, or much later.
  one.say(question, 1);
  EXPECT_EQ(one.answer().value, 0u);
  one.say(call(Act::kIdle, 0, 0));
  EXPECT_TRUE(one.session.advance().empty());
  one.say(question, 1);
  EXPECT_EQ(one.answer().value, 1u);
}

TEST(LiveSession, WhatWatchdogsSeeHangsOnNoRealTime) {
  One one;
  bool has_looked = true;
  std::vector<Time> looks;
  one.session.set_outside({}, [&](std::uint32_t, Time at) {
    if (looks.empty() || looks.back() != at) looks.push_back(at);
    return has_looked;
  });
  Record question = with_event(Act::kAskEvent, 1);
  question.flags |= kOfHelper;
  Record sleep = call(Act::kSleep);
  sleep.flags = kAnswerWanted;
  const auto sleeps = [&](std::uint64_t us) {
    sleep.word[0] = us * 1000;
    one.say(sleep);
    return one.session.advance();
  };
  const auto is_seen = [&] {
    one.say(question, 1);
    return one.answer().value == 1;
  };
  one.say(kernel(5, 100));
  one.say(with_event(Act::kRecordEvent, 1, 5));
  EXPECT_EQ(sleeps(50'000).size(), 1u);  // no tenth of a second since the beginning
  EXPECT_FALSE(is_seen());
  // Who stands still a tenth of a second after the last look goes on when they have looked, and they see all up to then.
  has_looked = false;
  EXPECT_TRUE(sleeps(60'000).empty());
  EXPECT_TRUE(is_seen());
  ASSERT_EQ(looks.size(), 1u);
  EXPECT_GE(looks[0], us(110'000));
  EXPECT_EQ(one.session.present()[0], looks[0]);
  has_looked = true;
  EXPECT_EQ(one.answer().at, looks[0]);
  // Who never stands still has them see what was some seconds ago.
  one.say(kernel(5, 100));
  one.say(with_event(Act::kRecordEvent, 1, 5));
  one.say(call(Act::kMark, 1'000'000, 0));
  EXPECT_FALSE(is_seen());
  one.say(call(Act::kMark, 1'500'000, 0));
  EXPECT_TRUE(is_seen());
  EXPECT_EQ(looks.size(), 1u);
}

TEST(LiveSession, WhoWaitsForWatchdogsGoesOnHoweverOftenTheyAsk) {
  One one;
  bool has_looked = false;
  one.session.set_outside({}, [&](std::uint32_t, Time) { return has_looked; });
  Record question = with_event(Act::kAskEvent, 1), sleep = call(Act::kSleep);
  question.flags |= kOfHelper;
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 200'000'000;
  one.say(kernel(5, 100));
  one.say(with_event(Act::kRecordEvent, 1, 5));
  one.say(sleep);
  EXPECT_TRUE(one.session.advance().empty());
  has_looked = true;  // nobody says so: it is asked
  bool goes_on = false;
  for (int asked = 0; asked < 1000 && !goes_on; ++asked) {
    one.say(question, 1);
    const std::vector<SessionAnswer> answers = one.session.advance();
    const auto of = [&answers](std::uint32_t thread) {
      return std::count_if(answers.begin(), answers.end(),
                           [thread](const SessionAnswer& one) { return one.thread == thread; });
    };
    EXPECT_EQ(of(1), 1);
    goes_on = of(0) == 1;
  }
  EXPECT_TRUE(goes_on);
}

/// A message may be under way that wakes who waits, long before its time-out: what is called then is not seen to be old.
TEST(LiveSession, WatchdogsDoNotSeeATimeOutThatHasNotCome) {
  One one;
  bool is_quiet = false;
  one.session.set_outside([&](const Leap&) { return is_quiet; },
                          [](std::uint32_t, Time) { return true; });
  one.say(kernel(5, 100));
  one.say(with_event(Act::kRecordEvent, 1, 5));
  one.say(until(Act::kIdle, 9'000'000'000));
  EXPECT_TRUE(one.session.advance().empty());
  Record question = with_event(Act::kAskEvent, 1);
  question.flags |= kOfHelper;
  one.say(question, 1);
  EXPECT_EQ(one.answer().value, 1u);  // what was put on the stream ends, whoever wakes
  EXPECT_LT(one.session.present()[0], us(1000));
  is_quiet = true;
  EXPECT_GE(one.answer().at, us(9'000'000'000));
  EXPECT_GE(one.session.present()[0], us(8'000'000'000));
}

TEST(LiveSession, AHelperWithTheRingOfAThreadThatHasEndedHoldsNobodyUp) {
  One one;
  Record start = call(Act::kThreadStart);
  start.word[3] = 1;
  one.say(start, 1);
  one.say(call(Act::kThreadEnd), 1);
  one.say(with_event(Act::kRecordEvent, 1));
  Record question = with_event(Act::kAskEvent, 1);
  question.flags |= kOfHelper;
  one.say(question, 1);
  one.answer();
  Record sleep = call(Act::kSleep);
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 1'000'000;
  one.say(sleep);
  EXPECT_GE(one.answer().at, us(1000));
}

/// Both ranks as a process names them: member 0 is rank 1, member 1 is rank 0.
void name_both(Session& session, std::uint32_t process) {
  for (const std::uint64_t member : {0u, 1u}) {
    Record record = call(Act::kNameMember);
    record.number = static_cast<std::uint32_t>(member);
    record.word[0] = 9;
    record.word[1] = std::uint64_t{2} << 32 | member;
    record.word[2] = (1 - member) << 32 | (1 - member);
    record.word[3] = 1 - process;
    EXPECT_FALSE(session.take(process, 0, record, "memory"));
  }
}
Record barrier() {
  Record record = call(Act::kCollective);
  record.number = 2;
  record.stream = 5;
  record.word[0] = 9;
  record.word[1] = static_cast<std::uint64_t>(Collective::kBarrier) << 32;
  record.word[3] = 1;
  return record;
}

/// The first of two ranks is in a barrier, and waits for it.
void first_waits(Session& session) {
  session.add_process(0);
  session.add_process(1);
  name_both(session, 0);
  EXPECT_FALSE(session.take(0, 0, barrier(), ""));
  Record wait = wait_device();
  wait.number = 3;
  EXPECT_FALSE(session.take(0, 0, wait, ""));
}

TEST(LiveSession, BarriersInSharedMemoryWaitForAll) {
  PlainWork work;
  Session session(work, kTimes);
  first_waits(session);
  EXPECT_TRUE(session.advance().empty());
  name_both(session, 1);
  Record late = barrier();
  late.gap_ns = 500'000;
  EXPECT_FALSE(session.take(1, 0, late, ""));
  Record end = call(Act::kThreadEnd);
  end.number = 3;
  EXPECT_FALSE(session.take(1, 0, end, ""));
  const std::vector<SessionAnswer> answers = session.advance();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_GT(answers[0].at, us(500));
  EXPECT_LT(answers[0].at, us(600));
}

TEST(LiveSession, ABarrierThatARankNeverReachesIsTold) {
  PlainWork work;
  Session session(work, kTimes);
  first_waits(session);
  EXPECT_FALSE(session.take(1, 0, call(Act::kThreadEnd), ""));
  EXPECT_TRUE(session.advance().empty());
  const std::string text = session.deadlock();
  EXPECT_NE(text.find("barrier"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 never called it"), std::string::npos) << text;
}

TEST(LiveSession, AProcessThatWaitsForSomethingElseIsNoDeadlock) {
  PlainWork work;
  Session session(work, kTimes);
  session.add_process(0);
  session.add_process(1);
  EXPECT_FALSE(session.take(0, 0, communicator(0, 2), "id"));
  EXPECT_FALSE(session.take(1, 0, call(Act::kIdle), ""));
  EXPECT_TRUE(session.advance().empty());
  EXPECT_EQ(session.deadlock(), "");
}

TEST(LiveSession, AThreadThatStopsWithoutAWordHoldsNobodyUp) {
  PlainWork work;
  Session session(work, kTimes);
  session.add_process(0);
  session.add_process(1);
  Record sleep = call(Act::kSleep);
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 1'000'000;
  EXPECT_FALSE(session.take(0, 0, sleep, ""));
  EXPECT_TRUE(session.advance().empty());  // rank 1 might do something first
  const std::vector<Holder> holders = session.holders();
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(holders[0].rank, 1);
  session.stand_still(holders[0].process, holders[0].thread, true);
  EXPECT_TRUE(session.holders().empty());
  const std::vector<SessionAnswer> answers = session.advance();
  ASSERT_EQ(answers.size(), 1u);
  // What it says next comes when the run has come so far.
  EXPECT_FALSE(session.take(1, 0, call(Act::kMakeStream), ""));
  ASSERT_EQ(session.holders().size(), 2u);
  EXPECT_GE(session.holders()[0].at, us(1000));
}

TEST(LiveSession, RanksThatFailedBeginAgainWhenTheyDid) {
  PlainWork work;
  Session session(work, kTimes);
  session.add_process(0);
  session.add_process(1);
  Record sleep = call(Act::kSleep);
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 2'000'000;
  EXPECT_FALSE(session.take(0, 0, sleep, ""));
  EXPECT_FALSE(session.take(1, 0, sleep, ""));
  while (!session.advance().empty()) {
  }
  session.lose(1, true);
  session.lose(0, true);  // its launcher ends it
  EXPECT_TRUE(session.restarts().empty());
  session.add_process(0);
  session.add_process(1);
  ASSERT_EQ(session.restarts().size(), 1u);
  EXPECT_EQ(session.restarts()[0].rank, 1);
  EXPECT_GE(session.restarts()[0].at, us(2000));
  for (const Holder& holder : session.holders()) EXPECT_EQ(holder.at, session.restarts()[0].at);
  EXPECT_EQ(session.waiting(), 0u);
}

TEST(LiveSession, AProcessInThePlaceOfOneThatHasEndedBeginsThere) {
  One one;
  one.say(kernel(5, 100));
  one.say(wait_device());
  const Time end = one.answer().at;
  one.session.lose(0, false);
  one.session.add_process(0);
  EXPECT_TRUE(one.session.restarts().empty());
  ASSERT_EQ(one.session.holders().size(), 1u);
  EXPECT_EQ(one.session.holders()[0].at, end);
}

TEST(LiveSession, RecordsAreActedOnInTheOrderOfTheCalls) {
  One one;
  Record second = kernel(5, 10), first = kernel(5, 100);
  first.number = 0;
  second.number = 1;
  EXPECT_FALSE(one.session.take(0, 1, second, "b"));
  EXPECT_FALSE(one.session.take(0, 0, first, "a"));
  const auto settled = one.session.run().take_settled(Time::max());
  EXPECT_EQ(settled.back().start, us(105));
}

TEST(LiveSession, CallsThatDifferBetweenRanksAreRefused) {
  PlainWork work;
  Session session(work, kTimes);
  for (const int rank : {0, 1}) {
    session.add_process(rank);
    EXPECT_FALSE(session.take(static_cast<std::uint32_t>(rank), 0,
                              communicator(static_cast<std::uint64_t>(rank), 2), "id"));
  }
  Record mine = collective(Collective::kAllReduce, 8, 5), other = mine;
  mine.number = other.number = 1;
  other.word[2] = 16;
  EXPECT_FALSE(session.take(0, 0, mine, ""));
  const auto problem = session.take(1, 0, other, "");
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->text().find("rank 0"), std::string::npos);
}

TEST(LiveSession, ARankThatNeverJoinsIsADeadlock) {
  PlainWork work;
  Session session(work, kTimes);
  session.add_process(0);
  EXPECT_FALSE(session.take(0, 0, communicator(0, 2), "id"));
  Record wait = wait_group();
  wait.number = 1;
  EXPECT_FALSE(session.take(0, 0, wait, ""));
  EXPECT_TRUE(session.advance().empty());
  EXPECT_NE(session.deadlock().find("communicator"), std::string::npos);
}

TEST(LiveSession, NobodysTimeIsUpWhileOthersAreAboutToBeWoken) {
  One one;
  bool quiet = false;
  int asked = 0;
  Leap leap;
  one.session.set_outside([&](const Leap& next) {
    ++asked;
    leap = next;
    return quiet;
  });
  Record start = call(Act::kThreadStart);
  start.word[3] = 1;
  one.say(start, 1);
  Record sleep = call(Act::kSleep);
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 1'000'000;
  Record waits = call(Act::kIdle);
  waits.flags = kAnswerWanted;
  waits.word[0] = 600'000'000;
  one.say(waits, 1);
  one.say(sleep);
  EXPECT_TRUE(one.session.advance().empty());
  const Leap first = leap;
  EXPECT_FALSE(first.gives_up);
  EXPECT_GE(first.over, us(1'000));
  EXPECT_TRUE(one.session.advance().empty());
  EXPECT_EQ(leap.heard, first.heard);
  EXPECT_EQ(asked, 2);
  // Somebody in real time wakes the thread: it goes on where the run is, not where its time would have been up.
  one.say(call(Act::kWoken), 1);
  const SessionAnswer woken = one.answer();
  EXPECT_EQ(woken.thread, 1u);
  EXPECT_EQ(woken.status, 0u);
  EXPECT_LT(woken.at, us(100));
  EXPECT_EQ(asked, 2);
  // Nobody stands still who could be woken: nobody has to be asked.
  Record later = sleep;
  later.word[0] = 5'000'000;
  one.say(later, 1);
  EXPECT_EQ(one.answer().thread, 0u);
  EXPECT_EQ(asked, 2);
  // It is quiet, and a time is up.
  quiet = true;
  one.say(waits);
  EXPECT_EQ(one.answer().thread, 1u);
  EXPECT_EQ(asked, 3);
  one.say(waits, 1);
  const SessionAnswer up = one.answer();
  EXPECT_EQ(up.thread, 0u);
  EXPECT_EQ(up.status, static_cast<std::uint32_t>(ETIMEDOUT));
  EXPECT_TRUE(leap.gives_up);
  EXPECT_GE(leap.over, us(590'000));
  EXPECT_GT(leap.heard, first.heard);
}

TEST(LiveSession, WatchdogsLookBeforeACallsTimeIsOver) {
  PlainWork work;
  Session session(work, kTimes);
  bool has_looked = true;
  std::vector<std::pair<std::uint32_t, Time>> looks;
  session.set_outside({}, [&](std::uint32_t process, Time at) {
    if (looks.empty() || looks.back() != std::pair(process, at)) looks.emplace_back(process, at);
    return has_looked;
  });
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    session.add_process(static_cast<std::int32_t>(rank));
  std::uint32_t said[2] = {};
  const auto say = [&](std::uint32_t rank, Record record) {
    record.number = said[rank]++;
    EXPECT_FALSE(session.take(rank, 0, record, "id"));
  };
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    say(rank, communicator(rank, 2));
    say(rank, wait_group());
  }
  EXPECT_EQ(session.advance().size(), 2u);
  say(0, collective(Collective::kAllReduce, 16, 5));
  say(0, wait_device());
  Record sleep = call(Act::kSleep);
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 2'000'000'000;
  say(1, sleep);
  // Rank 0 waits in its call while rank 1 sleeps for two seconds: its watchdog looks at half a second, and until it has
  // nothing happens.
  has_looked = false;
  EXPECT_TRUE(session.advance().empty());
  EXPECT_TRUE(session.advance().empty());
  ASSERT_EQ(looks.size(), 1u);
  EXPECT_EQ(looks[0].first, 0u);
  EXPECT_LT(looks[0].second, us(1'000'000));
  EXPECT_LE(session.present()[0], looks[0].second);
  // Then when a second has passed since, and then the sleep is over, before which watchdogs of its own rank see what is.
  has_looked = true;
  EXPECT_EQ(session.advance().size(), 1u);
  ASSERT_EQ(looks.size(), 3u);
  EXPECT_EQ(looks[1].second - looks[0].second, us(1'100'000));
  EXPECT_EQ(looks[2].first, 1u);
  EXPECT_GT(looks[2].second, us(2'000'000));
  EXPECT_GT(session.passed(), us(2'000'000));
  // All have called, nobody waits for anybody: nobody has to look.
  say(1, collective(Collective::kAllReduce, 16, 5));
  say(1, wait_device());
  EXPECT_EQ(session.advance().size(), 2u);
  EXPECT_EQ(looks.size(), 4u);  // the other rank's, as it stood still
}

/// How long a kernel of 1000 us takes of each of four ranks, before and after they first call together.
/// @param seen devices of a node, as programs see it
std::pair<Time, Time> kernels_of_four_ranks(std::uint32_t seen, std::uint32_t chips_of_node) {
  PlainWork work;
  work.for_each_doubling = 0.01;
  Session session(work, kTimes);
  session.set_node(seen);
  session.set_chips_of_node(chips_of_node);
  std::uint32_t said[4] = {};
  const auto say = [&](std::uint32_t rank, Record record) {
    record.number = said[rank]++;
    EXPECT_FALSE(session.take(rank, 0, record, "id"));
  };
  const auto all_wait = [&](std::initializer_list<Record> records) {
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (const Record& record : records) say(rank, record);
    const std::vector<SessionAnswer> answers = session.advance();
    EXPECT_EQ(answers.size(), 4u);
    return answers.empty() ? Time() : answers.front().at;
  };
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    session.add_process(static_cast<std::int32_t>(rank));
    say(rank, communicator(rank, 4));
    say(rank, wait_group());
  }
  EXPECT_EQ(session.advance().size(), 4u);
  const auto kernel_takes = [&] {
    const Time without = all_wait({wait_device()}), begun = all_wait({wait_device()});
    return all_wait({kernel(5, 1000), wait_device()}) - begun - (begun - without);
  };
  const Time before = kernel_takes();
  all_wait({collective(Collective::kAllReduce, 16, 5), wait_device()});
  return {before, kernel_takes()};
}

TEST(LiveSession, WhereNodesWaitForEachOtherTheSlowestChipSetsThePace) {
  const auto [alone, within_node] = kernels_of_four_ranks(4, 4);
  EXPECT_EQ(within_node, alone);
  EXPECT_GE(alone, us(1000));
  for (const auto& [chips, doublings] : {std::pair(2U, 1), std::pair(1U, 2)}) {
    const auto [before, after] = kernels_of_four_ranks(4, chips);
    EXPECT_EQ(before, alone);
    EXPECT_EQ(after - before, us(10 * doublings));
    EXPECT_EQ(kernels_of_four_ranks(chips, 4).second,
              alone);  // nodes that programs see and that are none
  }
}

// ---- against a slow oracle ---------------------------------------------------------------------

/// Goes through every rank's script again and again, as far as what it needs is known. It knows nothing
/// of horizons: a question about what is not known yet is asked again later.
class SlowOracle {
 public:
  explicit SlowOracle(const Script& script) : script_(script), ranks_(script.size()) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r].clock = Time{};
  }

  Announced run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        while (ranks_[r].at < script_[r].size() && step(r)) moved = true;
      }
    }
    Announced told;
    for (const Rank& rank : ranks_) told.push_back(rank.told);
    return told;
  }

 private:
  struct Rank {
    std::size_t at = 0, meetings = 0;
    Time clock;
    /// Ends of streams and events; -1 in `unknown`: of a transfer that has no end yet.
    std::map<std::uint64_t, std::size_t> stream, event;
    std::map<std::uint64_t, std::vector<std::size_t>> next;
    std::vector<std::tuple<Time, std::uint32_t, std::uint64_t>> told;
  };
  /// A thing on a stream: starts after others, at or after `from`; ends `takes` later, or with a meeting.
  struct Thing {
    std::vector<std::size_t> after;
    Time from, takes;
    std::optional<std::size_t> meeting;
  };
  struct Meeting {
    std::vector<std::size_t> arrivals;
    Time takes;
  };

  std::optional<Time> start(std::size_t thing) const {
    Time at = things_[thing].from;
    for (const std::size_t before : things_[thing].after) {
      const auto end = end_of(before);
      if (!end) return std::nullopt;
      at = std::max(at, *end);
    }
    return at;
  }
  std::optional<Time> end_of(std::size_t thing) const {
    const auto at = start(thing);
    if (!at) return std::nullopt;
    if (!things_[thing].meeting) return *at + things_[thing].takes;
    const Meeting& meeting = meetings_.at(*things_[thing].meeting);
    if (meeting.arrivals.size() < ranks_.size()) return std::nullopt;
    Time begin = Time::min();
    for (const std::size_t arrival : meeting.arrivals) {
      const auto arrived = start(arrival);
      if (!arrived) return std::nullopt;
      begin = std::max(begin, *arrived);
    }
    return begin + meeting.takes;
  }

  std::size_t put(Rank& rank, std::uint64_t stream, Time takes, Time called) {
    Thing thing{{}, called + kTimes.launch, takes, std::nullopt};
    for (const auto& [other, last] : rank.stream) {
      if (other == stream || other == 0 || stream == 0) thing.after.push_back(last);
    }
    for (const std::size_t event : rank.next[stream]) thing.after.push_back(event);
    rank.next[stream].clear();
    things_.push_back(thing);
    rank.stream[stream] = things_.size() - 1;
    return things_.size() - 1;
  }

  /// @return whether the next record could be acted on
  bool step(std::size_t r) {
    Rank& rank = ranks_[r];
    const Record& record = script_[r][rank.at];
    const Time called = rank.clock + Time::from_ns(record.gap_ns);
    const Time done = called + Time::from_ns(record.duration_ns);
    std::vector<std::size_t> waits;
    switch (record.act) {
      case Act::kMakeGroup:
        made_[r] = done;
        break;
      case Act::kWaitGroup: {
        if (made_.size() < ranks_.size()) return false;
        Time last;
        for (const auto& [who, when] : made_) last = std::max(last, when);
        tell(rank, std::max(done, last + kTimes.wake), 0);
        return true;
      }
      case Act::kKernel:
        put(rank, record.stream, us(static_cast<std::int64_t>(record.word[0])), called);
        break;
      case Act::kRecordEvent:
        rank.event[record.word[0]] = put(rank, record.stream, Time{}, called);
        break;
      case Act::kStreamWaitsEvent:
        if (rank.event.contains(record.word[0]))
          rank.next[record.stream].push_back(rank.event[record.word[0]]);
        break;
      case Act::kCollective: {
        const std::size_t thing = put(rank, record.stream, Time{}, called);
        const std::size_t meeting = rank.meetings++;
        things_[thing].meeting = meeting;
        meetings_[meeting].takes = us(static_cast<std::int64_t>(record.word[2]));
        meetings_[meeting].arrivals.push_back(thing);
        break;
      }
      case Act::kWaitEvent:
        if (rank.event.contains(record.word[0])) waits.push_back(rank.event[record.word[0]]);
        return wait(rank, done, waits);
      case Act::kWaitDevice:
        for (const auto& [stream, last] : rank.stream) waits.push_back(last);
        return wait(rank, done, waits);
      case Act::kAskEvent: {
        std::uint64_t ended = 1;
        if (rank.event.contains(record.word[0])) {
          const auto end = end_of(rank.event[record.word[0]]);
          if (!end) return false;
          ended = *end <= done ? 1 : 0;
        }
        tell(rank, done, ended);
        return true;
      }
      default:
        break;
    }
    rank.clock = done;
    ++rank.at;
    return true;
  }
  bool wait(Rank& rank, Time done, const std::vector<std::size_t>& waits) {
    for (const std::size_t thing : waits) {
      const auto end = end_of(thing);
      if (!end) return false;
      done = std::max(done, *end + kTimes.wake);
    }
    tell(rank, done, 0);
    return true;
  }
  void tell(Rank& rank, Time at, std::uint64_t value) {
    rank.clock = at;
    rank.told.emplace_back(at, 0, value);
    ++rank.at;
  }

  const Script& script_;
  std::vector<Rank> ranks_;
  std::vector<Thing> things_;
  std::map<std::size_t, Meeting> meetings_;
  std::map<std::size_t, Time> made_;
};

RC_GTEST_PROP(LiveSessionProperty, WhoIsHeardFirstDoesNotShowInTurns, ()) {
  const Script script = any_script();
  const auto one = [&script](unsigned seed) {
    PlainWork work;
    work.fills_from = 10;
    Session session(work, kTimes);
    std::mt19937 random(seed);
    return play(script, session, random);
  };
  RC_ASSERT(one(1) == one(*rc::gen::inRange(2u, 1000u)));
}

RC_GTEST_PROP(LiveSessionProperty, AnswersAreThoseOfASlowOracle, ()) {
  const Script script = any_script();
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  const Announced expected = SlowOracle(script).run();
  PlainWork work;
  Session session(work, kTimes);
  const Announced found = play(script, session, random);
  RC_ASSERT(found == expected);
}

}  // namespace
}  // namespace flopcast::live
