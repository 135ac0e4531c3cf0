#include "whatif/durations/row_cost.h"

#include <gtest/gtest.h>

#include "whatif/testing.h"

namespace flopcast::whatif {
namespace {

using test::TraceText;

/// Operators of 20 us with another in them, `before` after its begin and `after` before its end.
Time cost_of(int operators, double before, double after) {
  TraceText text;
  for (int i = 0; i < operators; ++i) {
    const double at = 100.0 * i;
    text.op("aten::linear", at, at + 20).op("aten::addmm", at + before, at + 20 - after);
    text.launch(at + 8, at + 10, i + 1).kernel("gemm", at + 12, at + 60, 7, i + 1);
  }
  return operator_row_cost(*run_of(text.read()).recording);
}

TEST(WhatIfRowCost, IsWhatLiesBetweenNestedOperators) {
  EXPECT_EQ(cost_of(200, 0.75, 0.25), Time::from_ns(1500));
}

TEST(WhatIfRowCost, IsNoMoreThanUsual) { EXPECT_EQ(cost_of(200, 4, 3), kRowCost); }

TEST(WhatIfRowCost, IsTheUsualWhereFewOperatorsTell) {
  EXPECT_EQ(cost_of(50, 0.75, 0.25), kRowCost);
}

}  // namespace
}  // namespace flopcast::whatif
