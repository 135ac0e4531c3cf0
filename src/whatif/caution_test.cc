// A gain that is only moved between steps, and work taken away that makes a step longer, are told.
#include "whatif/caution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast::whatif {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Steps of so many ms; the first is not judged.
Judged steps(const std::vector<int>& lengths) {
  Judged judged;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    judged.steps.push_back(
        {"ProfilerStep#" + std::to_string(i), Time::from_us(1000 * lengths[i]), {}, i > 0});
  }
  return judged;
}

TEST(Caution, AGainThatTheFirstStepLosesIsMoved) {
  const std::string why = caution_of(steps({60, 48, 42, 42}), steps({67, 41, 42, 42}), true);
  EXPECT_THAT(why, HasSubstr("are 7.00 ms shorter together"));
  EXPECT_THAT(why, HasSubstr("ProfilerStep#0, which is not judged, is 7.00 ms longer"));
  EXPECT_THAT(why, HasSubstr("change by +0.00 %"));
}

TEST(Caution, ALongerStepOfLessWorkNeedsAReason) {
  EXPECT_THAT(caution_of(steps({60, 40}), steps({60, 45}), true), HasSubstr("nothing was added"));
  EXPECT_THAT(caution_of(steps({60, 40}), steps({60, 45}), false), IsEmpty());
}

TEST(Caution, WhatIsSimplyShorterNeedsNone) {
  EXPECT_THAT(caution_of(steps({60, 40}), steps({55, 35}), true), IsEmpty());
  EXPECT_THAT(caution_of(steps({60, 40}), steps({60, 40}), true), IsEmpty());
  EXPECT_THAT(caution_of(steps({60, 40}), steps({61, 35}), true), IsEmpty());
}

}  // namespace
}  // namespace flopcast::whatif
