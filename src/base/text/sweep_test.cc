#include "base/text/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace flopcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> values(std::string_view text, UnitKind unit = UnitKind::kNone) {
  const auto sweep = split_sweep(text);
  if (!sweep) return {"no sweep"};
  SweepRule rule{sweep->name, true, unit, [](std::string_view) { return std::nullopt; }};
  const auto all = sweep_values(*sweep, rule);
  return all ? *all : std::vector<std::string>{all.error().text()};
}

TEST(Sweep, ListsAndRanges) {
  EXPECT_THAT(values(" n = 3, 8..16 ,3"), ElementsAre("3", "8", "16"));
  EXPECT_THAT(values("n=64..300"), ElementsAre("64", "128", "256"));
  EXPECT_THAT(values("n=1..4:1,9"), ElementsAre("1", "2", "3", "4", "9"));
  EXPECT_THAT(values("b=1x..4x"), ElementsAre("1x", "2x", "4x"));
  EXPECT_THAT(values("b=1x..4x/7"), ElementsAre("1x", "1.5x", "2x", "2.5x", "3x", "3.5x", "4x"));
  EXPECT_THAT(values("b=80..320GB/3", UnitKind::kBytes), ElementsAre("80GB", "200GB", "320GB"));
  EXPECT_THAT(values("b=0.5TB/s..2TB/s", UnitKind::kBytesPerSecond),
              ElementsAre("0.5TB/s", "1TB/s", "2TB/s"));
  EXPECT_THAT(values("b=1TB/s..2TB/s/3", UnitKind::kBytesPerSecond),
              ElementsAre("1TB/s", "1.5TB/s", "2TB/s"));
  EXPECT_THAT(values("n=8,"), ElementsAre("8", ""));
}

TEST(Sweep, RefusesWhatIsNoRange) {
  EXPECT_THAT(values("n"), ElementsAre("no sweep"));
  for (const char* text : {"n=8..4", "n=..4", "n=4..", "n=0..4", "n=1..4:", "n=1..4:0", "n=1..4/1",
                           "n=1..4/2.5", "n=a..b", "n=1x..2GB"}) {
    EXPECT_THAT(values(text).front(), HasSubstr("is no range")) << text;
  }
  EXPECT_THAT(values("n=1..1000:1"), testing::SizeIs(1000));
  EXPECT_THAT(values("n=1..1001:1").front(), HasSubstr("more than 1,000 values"));
  EXPECT_THAT(values("n=1..999:1,1000,1001").front(), HasSubstr("more than 1,000 values"));
}

RC_GTEST_PROP(Sweep, CountsHaveBothEndsAndDoublingsStayInside, ()) {
  const double from = *rc::gen::inRange(1, 1000), more = *rc::gen::inRange(0, 100'000);
  const int count = *rc::gen::inRange(2, 40);
  const auto even = range_numbers(from, from + more, SweepSteps::kCount, count, 1000);
  RC_ASSERT(even.size() == static_cast<std::size_t>(count));
  RC_ASSERT(even.front() == from && std::abs(even.back() - from - more) < 1e-9);
  const auto doubled = range_numbers(from, from + more, SweepSteps::kDoubled, 1, 1000);
  RC_ASSERT(doubled.back() <= from + more && 2 * doubled.back() > from + more);
}

}  // namespace
}  // namespace flopcast
