#include "live/engine/session/record_check.h"

#include <gtest/gtest.h>

#include "live/engine/session/session.h"
#include "support/plain_work.h"

namespace flopcast::live {
namespace {

constexpr std::uint64_t kDayNs = 24 * 3600 * std::uint64_t{1'000'000'000};

Record of(Act act, std::uint64_t first = 0, std::uint64_t second = 0, std::uint64_t third = 0) {
  Record record;
  record.act = act;
  record.word[0] = first;
  record.word[1] = second;
  record.word[2] = third;
  return record;
}

std::string said_of(const Record& record) {
  const auto problem = check_record(3, record);
  return problem ? problem->text() : std::string();
}

TEST(LiveRecordCheck, WhatTheStandInsWritePasses) {
  EXPECT_EQ(said_of(of(Act::kKernel, 1 << 20, 1024)), "");
  EXPECT_EQ(said_of(of(Act::kCollective, 7, 9ULL << 32, 1 << 30)), "");
  EXPECT_EQ(said_of(of(Act::kSleep, 7 * kDayNs)), "");
  EXPECT_EQ(said_of(Record()), "");
  EXPECT_EQ(said_of(of(Act::kIdle, ~std::uint64_t{0})), "");
}

TEST(LiveRecordCheck, WhatNobodyWouldWriteIsNamed) {
  EXPECT_EQ(said_of(of(static_cast<Act>(99))).find("rank 3: has sent a record of 99 as its act"),
            0u);
  Record early = of(Act::kMark);
  early.gap_ns = -1;
  EXPECT_NE(said_of(early), "");
  Record elsewhere = of(Act::kMark);
  elsewhere.device = 64;
  EXPECT_NE(said_of(elsewhere), "");
  EXPECT_NE(said_of(of(Act::kKernel, 1ULL << 60, 1)), "");
  EXPECT_NE(said_of(of(Act::kKernel, 1, 1ULL << 32)), "");
  EXPECT_NE(said_of(of(Act::kCopy, 1ULL << 60)), "");
  EXPECT_NE(said_of(of(Act::kMakeGroup, 1, 0, 1ULL << 40)), "");
  EXPECT_NE(said_of(of(Act::kCollective, 1, 11ULL << 32, 1)), "");
  EXPECT_NE(said_of(of(Act::kNameMember, 1, 1ULL << 60)), "");
  EXPECT_NE(said_of(of(Act::kWoken, 0, 0, 200 * kDayNs)), "");
}

/// One rank, told record by record until something is wrong.
class LiveEndOfTime : public testing::Test {
 protected:
  std::optional<Diagnostic> say(Record record) {
    record.number = number_++;
    return session_.take(0, 0, record, "x");
  }
  std::vector<SessionAnswer> advance() { return session_.advance(); }

  PlainWork work_;
  Session session_{work_};
  std::uint32_t number_ = 0, process_ = session_.add_process(0);
};

TEST_F(LiveEndOfTime, ASleepLongerThanARunIsAnError) {
  const auto problem = say(of(Act::kSleep, 100 * kDayNs));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::kTooLarge);
  EXPECT_NE(problem->text().find("a run has 90 days, a sleep 8"), std::string::npos);
}

TEST_F(LiveEndOfTime, ManySleepsLongerThanARunAreOne) {
  Record sleep = of(Act::kSleep, 7 * kDayNs);
  sleep.flags = kAnswerWanted;
  Time at;
  for (int week = 0; week < 13; ++week) {
    ASSERT_FALSE(say(sleep)) << week;
    const auto answers = advance();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_GT(answers.front().at, at);
    at = answers.front().at;
  }
  EXPECT_TRUE(say(sleep));
}

TEST_F(LiveEndOfTime, AWaitForCenturiesEndsOnlyWhenItIsWoken) {
  Record wait = of(Act::kIdle, 9'000'000'000'000'000'000);
  wait.flags = kAnswerWanted;
  ASSERT_FALSE(say(wait));
  EXPECT_TRUE(advance().empty());
  ASSERT_FALSE(say(of(Act::kWoken)));
  const auto answers = advance();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.front().status, 0u);
}

}  // namespace
}  // namespace flopcast::live
