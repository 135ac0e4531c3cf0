#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "flopcast/mapping/explore.h"

namespace flopcast::mapping {
namespace {

bool beats(const ExploreCost& a, const ExploreCost& b) {
  const bool no_worse = a.time <= b.time && a.price <= b.price && a.power <= b.power;
  return no_worse && (a.time < b.time || a.price < b.price || a.power < b.power);
}

/// The definition, pair by pair.
std::vector<bool> front_by_definition(const std::vector<ExploreCost>& costs) {
  std::vector<bool> front;
  for (const ExploreCost& cost : costs) {
    bool on = std::isfinite(cost.time) && std::isfinite(cost.price) && std::isfinite(cost.power);
    for (const ExploreCost& other : costs) on = on && !beats(other, cost);
    front.push_back(on);
  }
  return front;
}

TEST(ParetoFront, KeepsWhatNothingBeats) {
  const std::vector<ExploreCost> costs = {{1, 9, 5}, {2, 8, 5}, {3, 9, 5},
                                          {2, 8, 5}, {9, 9, 1}, {2, 8, 6}};
  EXPECT_EQ(pareto_front(costs), (std::vector<bool>{true, true, false, true, true, false}));
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(ParetoFront, WhatHasNoMappingIsNeverOnIt) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector<ExploreCost> costs = {
      {kNever, kNever, kNever}, {std::nan(""), 1, 1}, {5, 5, 5}, {0, 0, kNever}};
  EXPECT_EQ(pareto_front(costs), (std::vector<bool>{false, false, true, false}));
}

// Few distinct values, so that ties in one, two and all three are common.
TEST(ParetoFront, IsTheDefinition) {
  EXPECT_TRUE(rc::check("front == definition", [] {
    const int values = *rc::gen::inRange(1, 12);
    std::vector<ExploreCost> costs(*rc::gen::inRange<std::size_t>(0, 60));
    for (ExploreCost& cost : costs) {
      for (double* field : {&cost.time, &cost.price, &cost.power}) {
        *field = *rc::gen::inRange(0, values);
      }
    }
    RC_ASSERT(pareto_front(costs) == front_by_definition(costs));
  }));
}

}  // namespace
}  // namespace flopcast::mapping
