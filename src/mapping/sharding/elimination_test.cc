#include "mapping/sharding/elimination.h"

#include <gtest/gtest.h>

#include "mapping/partition/testing.h"

namespace flopcast::mapping {
namespace {

using test::Random;

struct Network {
  std::vector<std::uint8_t> values;
  std::vector<LabelFactor> factors;
};

Network random_network(Random& random) {
  Network network;
  for (std::size_t v = 1 + test::below(random, 6); v > 0; --v) {
    network.values.push_back(static_cast<std::uint8_t>(1 + test::below(random, 4)));
  }
  for (std::size_t f = test::below(random, 9); f > 0; --f) {
    LabelFactor factor;
    std::size_t entries = 1;
    for (std::uint32_t v = 0; v < network.values.size() && factor.variables.size() < 3; ++v) {
      if (test::once_in(random, 2)) continue;
      factor.variables.push_back(v);
      entries *= network.values[v];
    }
    for (std::size_t i = 0; i < entries; ++i) {
      LabelCost cost;
      for (std::int64_t& part : cost.parts) part = static_cast<std::int64_t>(random() % 4);
      if (test::once_in(random, 6)) cost = {{LabelCost::kNever, 0, 0}};
      factor.costs.push_back(cost);
    }
    network.factors.push_back(std::move(factor));
  }
  return network;
}

LabelCost cost_of(const Network& network, const std::vector<std::uint8_t>& value) {
  LabelCost sum;
  for (const LabelFactor& factor : network.factors) {
    std::size_t at = 0;
    for (const std::uint32_t v : factor.variables) at = at * network.values[v] + value[v];
    sum = sum + factor.costs[at];
  }
  return sum;
}

LabelCost best_of_all(const Network& network) {
  std::vector<std::uint8_t> value(network.values.size(), 0);
  LabelCost best = cost_of(network, value);
  for (;;) {
    std::size_t v = 0;
    while (v < value.size() && ++value[v] == network.values[v]) value[v++] = 0;
    if (v == value.size()) return best;
    best = std::min(best, cost_of(network, value));
  }
}

TEST(CheapestLabelling, IsTheBestOfAll) {
  std::size_t impossible = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Random random(seed);
    const Network network = random_network(random);
    const LabelCost best = best_of_all(network);
    const auto found = cheapest_labelling(network.values, network.factors);
    ASSERT_EQ(found.has_value(), !best.never()) << "seed " << seed;
    impossible += best.never();
    if (!found) continue;
    ASSERT_EQ(found->cost, best) << "seed " << seed;
    ASSERT_EQ(cost_of(network, found->value), best) << "seed " << seed;
  }
  EXPECT_GT(impossible, 10U);
}

TEST(CheapestLabelling, DoesNotDependOnTheOrderOfFactors) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Network network = random_network(random);
    const auto first = cheapest_labelling(network.values, network.factors);
    std::reverse(network.factors.begin(), network.factors.end());
    const auto second = cheapest_labelling(network.values, network.factors);
    ASSERT_EQ(first.has_value(), second.has_value());
    if (first) {
      ASSERT_EQ(first->value, second->value) << "seed " << seed;
    }
  }
}

TEST(CheapestLabelling, TakesTheFirstOfEqualValues) {
  const LabelFactor factor{{0, 1}, std::vector<LabelCost>(9)};
  const auto found = cheapest_labelling({3, 3, 2}, {factor});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, (std::vector<std::uint8_t>{0, 0, 0}));
}

TEST(CheapestLabelling, RefusesTablesThatAreTooLarge) {
  // Every two of five variables are joined: the first to leave has a table of 4^5 entries.
  Network network{std::vector<std::uint8_t>(5, 4), {}};
  for (std::uint32_t a = 0; a < 5; ++a) {
    for (std::uint32_t b = a + 1; b < 5; ++b) {
      network.factors.push_back({{a, b}, std::vector<LabelCost>(16)});
    }
  }
  EXPECT_TRUE(cheapest_labelling(network.values, network.factors, 1024));
  EXPECT_FALSE(cheapest_labelling(network.values, network.factors, 1023));
}

}  // namespace
}  // namespace flopcast::mapping
