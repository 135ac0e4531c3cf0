#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "flopcast/serving/requests.h"

namespace flopcast {
namespace {

ServingWorkload closed_workload(std::int64_t users) {
  ServingWorkload asked;
  asked.users = users;
  asked.input = asked.output = 1024;
  return asked;
}

ServingWorkload rate_workload(double rate, double burstiness, std::int64_t count) {
  ServingWorkload asked = closed_workload(0);
  asked.kind = ServingWorkload::Kind::kRate;
  asked.rate = rate;
  asked.burstiness = burstiness;
  asked.count = count;
  return asked;
}

RequestList made(const ServingWorkload& asked) {
  auto list = make_requests(asked);
  EXPECT_TRUE(list.ok()) << list.error().text();
  return list.ok() ? std::move(*list) : RequestList();
}

TEST(Workload, AUserSendsTenRequestsUnlessToldOtherwise) {
  EXPECT_EQ(made(closed_workload(7)).requests.size(), 70U);
  ServingWorkload asked = closed_workload(7);
  asked.count = 12;
  asked.warm_up = 14;
  EXPECT_EQ(made(asked).requests.size(), 26U);
}

TEST(Workload, LengthsAreUniformBetweenTheirEnds) {
  ServingWorkload asked = closed_workload(2000);
  asked.spread = 0.2;
  double sum = 0;
  std::int64_t least = 1 << 20, most = 0;
  const RequestList list = made(asked);
  for (const ServingRequest& request : list.requests) {
    sum += static_cast<double>(request.input);
    least = std::min({least, request.input, request.output});
    most = std::max({most, request.input, request.output});
  }
  EXPECT_EQ(least, 819);
  EXPECT_EQ(most, 1024);
  EXPECT_NEAR(sum / 20'000, (819 + 1024) / 2.0, 2);
}

TEST(Workload, ARequestDoesNotDependOnHowManyThereAre) {
  ServingWorkload asked = closed_workload(1);
  asked.spread = 0.5;
  asked.count = 10;
  const RequestList few = made(asked);
  asked.count = 1000;
  const RequestList many = made(asked);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(few.requests[i].input, many.requests[i].input);
  asked.seed = 2;
  const RequestList other = made(asked);
  int equal = 0;
  for (std::size_t i = 0; i < 1000; ++i) equal += other.requests[i].input == many.requests[i].input;
  EXPECT_LT(equal, 20);
}

TEST(Workload, WarmUpRepeatsTheFirstRequest) {
  ServingWorkload asked = closed_workload(2);
  asked.spread = 0.5;
  asked.warm_up = 4;
  const RequestList list = made(asked);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(list.requests[i].input, list.requests[4].input);
    EXPECT_EQ(list.requests[i].output, list.requests[4].output);
  }
}

TEST(Workload, GapsHaveTheirMeanAndVariation) {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    const RequestList list = made(rate_workload(10, burstiness, 40'000));
    double sum = 0, squares = 0;
    for (std::size_t i = 1; i < list.requests.size(); ++i) {
      const double gap = (list.requests[i].arrival - list.requests[i - 1].arrival).seconds();
      EXPECT_GE(gap, 0);
      sum += gap;
      squares += gap * gap;
    }
    const double n = static_cast<double>(list.requests.size() - 1), mean = sum / n;
    EXPECT_NEAR(mean, 0.1, 0.1 * 4 * std::sqrt(burstiness / n)) << burstiness;
    EXPECT_NEAR((squares / n - mean * mean) / (mean * mean), burstiness, 0.12 * burstiness);
  }
}

TEST(Workload, EvenGapsAreEven) {
  const RequestList list = made(rate_workload(4, 0, 5));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(list.requests[i].arrival, Time::from_us(250'000 * static_cast<std::int64_t>(i)));
  }
}

ServingWorkload small_trace() {
  ServingWorkload asked;
  asked.kind = ServingWorkload::Kind::kTrace;
  asked.trace.requests = {
      {Time::from_us(5), 10, 1}, {Time::from_us(6), 20, 2}, {Time::from_us(9), 30, 3}};
  return asked;
}

TEST(Workload, ATraceIsFasterByItsScale) {
  ServingWorkload asked = small_trace();
  asked.time_scale = 4;
  const RequestList list = made(asked);
  ASSERT_EQ(list.requests.size(), 3U);
  EXPECT_EQ(list.requests[1].arrival, Time{250'000});
  EXPECT_EQ(list.requests[2].arrival, Time{1'000'000});
}

TEST(Workload, ATraceIsCutOrSaidAgain) {
  ServingWorkload asked = small_trace();
  asked.count = 2;
  EXPECT_EQ(made(asked).requests.size(), 2U);
  asked.count = 7;
  const RequestList list = made(asked);
  ASSERT_EQ(list.requests.size(), 7U);
  // A round is the span and a mean gap: 4 + 2 us.
  EXPECT_EQ(list.requests[3].arrival, Time::from_us(6));
  EXPECT_EQ(list.requests[5].arrival, Time::from_us(10));
  EXPECT_EQ(list.requests[6].arrival, Time::from_us(12));
  EXPECT_EQ(list.requests[6].input, 10);
}

TEST(Workload, SessionsShareTheirPrefixAndNoOther) {
  ServingWorkload asked = closed_workload(10);
  asked.input = 3000;
  asked.spread = 0.3;
  asked.shared_prefix = 0.9;
  asked.sessions = 3;
  const RequestList list = made(asked);
  ASSERT_GE(list.prefix_block, 16);
  const auto first_hash = [&](const ServingRequest& r) { return list.prefixes[r.prefix_begin]; };
  for (const ServingRequest& a : list.requests) {
    ASSERT_LT(a.prefix_begin, a.prefix_end);
    const std::int64_t tokens = (a.prefix_end - a.prefix_begin) * list.prefix_block;
    EXPECT_LE(tokens, std::min<std::int64_t>(a.input, 2700));
    EXPECT_GT(tokens, std::min<std::int64_t>(a.input, 2700) - list.prefix_block);
    for (const ServingRequest& b : list.requests) {
      EXPECT_EQ(first_hash(a) == first_hash(b), a.session == b.session);
    }
  }
}

TEST(Workload, WhatMakesNoSenseIsRefused) {
  const auto refused = [](auto&& change, ServingWorkload asked = closed_workload(1)) {
    change(asked);
    const auto list = make_requests(asked);
    return !list.ok() && !list.error().hint.empty();
  };
  using W = ServingWorkload;
  EXPECT_TRUE(refused([](W& w) { w.users = 0; }));
  EXPECT_TRUE(refused([](W& w) { w.input = 0; }));
  EXPECT_TRUE(refused([](W& w) { w.output = -5; }));
  EXPECT_TRUE(refused([](W& w) { w.spread = 1; }));
  EXPECT_TRUE(refused([](W& w) { w.spread = std::nan(""); }));
  EXPECT_TRUE(refused([](W& w) { w.count = -1; }));
  EXPECT_TRUE(refused([](W& w) { w.users = std::int64_t{1} << 62; }));
  EXPECT_TRUE(refused([](W& w) { w.sessions = std::int64_t{1} << 40; }));
  EXPECT_TRUE(refused([](W& w) { w.shared_prefix = 1.5; }));
  EXPECT_TRUE(refused([](W& w) { w.rate = 0; }, rate_workload(1, 1, 10)));
  EXPECT_TRUE(refused([](W& w) { w.burstiness = -1; }, rate_workload(1, 1, 10)));
  EXPECT_TRUE(refused([](W& w) { w.rate = 1e-9; }, rate_workload(1, 1, 10)));
  EXPECT_TRUE(refused([](W& w) { w.trace.requests.clear(); }, small_trace()));
  EXPECT_TRUE(refused([](W& w) { w.time_scale = 0; }, small_trace()));
  EXPECT_TRUE(refused([](W& w) { w.time_scale = 1e-13; }, small_trace()));
}

TEST(Workload, CountsThatNobodyTellsAreUsual) {
  const auto requests = [](const ServingWorkload& asked) {
    EXPECT_EQ(static_cast<std::int64_t>(made(asked).requests.size()), counted_requests(asked));
    return counted_requests(asked);
  };
  EXPECT_EQ(requests(rate_workload(4, 1, 0)), 2400);  // ten minutes
  EXPECT_EQ(requests(rate_workload(0.1, 1, 0)), 500);
  EXPECT_EQ(requests(rate_workload(1e4, 1, 0)), 50'000);
  EXPECT_EQ(requests(at_load(rate_workload(1e4, 1, 0), 2)), 1200);
  EXPECT_EQ(requests(rate_workload(4, 1, 7)), 7);
  EXPECT_EQ(requests(at_load(closed_workload(3), 5)), 50);
}

RC_GTEST_PROP(Workload, ArrivalsNeverFall, ()) {
  ServingWorkload asked = rate_workload(*rc::gen::inRange(1, 1000), *rc::gen::inRange(0, 50) / 10.0,
                                        *rc::gen::inRange(1, 300));
  asked.seed = *rc::gen::arbitrary<std::uint64_t>();
  const RequestList list = made(asked);
  RC_ASSERT(list.requests.front().arrival == Time{});
  for (std::size_t i = 1; i < list.requests.size(); ++i) {
    RC_ASSERT(list.requests[i - 1].arrival <= list.requests[i].arrival);
  }
}

}  // namespace
}  // namespace flopcast
