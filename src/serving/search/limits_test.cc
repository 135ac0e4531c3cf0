// Limits on percentiles: their grammar, and nearest ranks by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flopcast/serving/search.h"

namespace flopcast {
namespace {

using Quantity = ServiceLimit::Quantity;
using testing::HasSubstr;

TEST(ServiceLimits, AreReadAndWrittenBack) {
  const auto limits =
      parse_service_limits("ttft.p99<1s, tpot.p99 < 50ms,ITL.max<=0.2s,e2e.mean<12");
  ASSERT_TRUE(limits) << limits.error().text();
  ASSERT_EQ(limits->size(), 4U);
  EXPECT_EQ((*limits)[0], (ServiceLimit{Quantity::kTtft, 99, {1}}));
  EXPECT_EQ((*limits)[1].quantity, Quantity::kTpot);
  EXPECT_NEAR((*limits)[1].below.value, 0.05, 1e-12);
  EXPECT_EQ((*limits)[2].quantity, Quantity::kInterToken);
  EXPECT_EQ((*limits)[2].percentile, 100);
  EXPECT_EQ((*limits)[3].percentile, 0);
  std::string text;
  for (const ServiceLimit& limit : *limits) text += (text.empty() ? "" : ",") + name(limit);
  EXPECT_EQ(text, "ttft.p99<1s,tpot.p99<50ms,itl.max<200ms,latency.mean<12s");
  EXPECT_EQ(name((*parse_service_limits("latency.p99.9<2.5s"))[0]), "latency.p99.9<2.5s");
}

TEST(ServiceLimits, SayWhatIsWrong) {
  const auto error_of = [](std::string_view text) {
    const auto read = parse_service_limits(text);
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_THAT(error_of(""), HasSubstr("expected QUANTITY.PERCENTILE<TIME"));
  EXPECT_THAT(error_of("ttft.p99<1s,"), HasSubstr("found ''"));
  EXPECT_THAT(error_of("speed.p99<1s"), HasSubstr("found 'speed'"));
  EXPECT_THAT(error_of("ttft<1s"), HasSubstr("a percentile such as p99"));
  EXPECT_THAT(error_of("ttft.p101<1s"), HasSubstr("found 'p101'"));
  EXPECT_THAT(error_of("ttft.p0<1s"), HasSubstr("found 'p0'"));
  EXPECT_THAT(error_of("ttft.p99<soon"), HasSubstr("found 'soon'"));
  EXPECT_THAT(error_of("ttft.p99<-1s"), HasSubstr("found '-1s'"));
  EXPECT_THAT(error_of("ttft.p99<0s"), HasSubstr("above 0"));
  EXPECT_THAT(error_of("itl.p99.9<1s"), HasSubstr("gaps between tokens"));
}

/// Ten requests: TTFT 1..10 s, TPOT 10 ms.
FleetRun ten_requests() {
  FleetRun run;
  for (int i = 1; i <= 10; ++i) {
    RequestOutcome request;
    request.sent = Time::from_us(0);
    request.first_token = Time::from_us(1'000'000 * std::int64_t{i});
    request.done = request.first_token + Time::from_us(90'000);
    request.output = 10;
    run.requests.push_back(request);
  }
  run.answered = 10;
  run.ttft.mean = {5.5};
  run.ttft.p90 = {9};
  return run;
}

TEST(ServiceLimits, HoldNearestRanks) {
  FleetRun run = ten_requests();
  const auto of = [&](std::string_view text) {
    return limited_value(run, (*parse_service_limits(text))[0]).value;
  };
  EXPECT_EQ(of("ttft.mean<1s"), 5.5);
  EXPECT_EQ(of("ttft.p90<1s"), 9);  // as the run says
  EXPECT_EQ(of("ttft.p70<1s"), 7);
  EXPECT_EQ(of("ttft.p71<1s"), 8);
  EXPECT_EQ(of("ttft.p1<1s"), 1);
  EXPECT_NEAR(of("latency.p80<1s"), 8.09, 1e-12);
  EXPECT_TRUE(meets(run, *parse_service_limits("ttft.p70<7.5s,latency.p80<8.1s")));
  EXPECT_FALSE(meets(run, *parse_service_limits("ttft.p70<7.5s,latency.p80<8s")));
  EXPECT_FALSE(meets(run, *parse_service_limits("ttft.p70<7s")));  // it is not below
  EXPECT_NEAR(limit_ratio(run, *parse_service_limits("ttft.p70<14s,ttft.p80<10s")), 0.8, 1e-12);
}

TEST(ServiceLimits, RequestsWithoutAnswerMeetNothing) {
  FleetRun run = ten_requests();
  EXPECT_TRUE(meets(run, {}));
  run.unanswered = 1;
  EXPECT_FALSE(meets(run, {}));
  EXPECT_TRUE(std::isinf(limit_ratio(run, {})));
  run.unanswered = 0;
  run.lost = 1;
  EXPECT_FALSE(meets(run, {}));
}

TEST(ServiceLimits, CountOnlyWhatIsCounted) {
  FleetRun run = ten_requests();
  for (std::size_t i = 5; i < 10; ++i) run.requests[i].counted = false;
  EXPECT_EQ(limited_value(run, (*parse_service_limits("ttft.p98<1s"))[0]).value, 5);
}

}  // namespace
}  // namespace flopcast
