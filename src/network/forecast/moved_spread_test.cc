// How far moved curves are off: the constant that widens their bands is found anew from the catalogue's curves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flopcast/network/fit.h"
#include "network/fit/constants.h"
#include "network/fit/kinship.h"
#include "network/forecast/moved.h"

namespace flopcast::network {
namespace {

struct SpreadSystem {
  std::string name;
  Cluster node;
  Platform platform;
};

/// Those whose node is in the catalogue.
std::vector<SpreadSystem> measured_nodes() {
  std::vector<SpreadSystem> systems;
  for (const std::string& name : CollectiveFit::builtin().systems()) {
    const Result<Cluster> node = Catalog::builtin().cluster(node_of_system(name));
    if (node) systems.push_back({name, *node, platform_of(name)});
  }
  return systems;
}

/// What NCCL needed on one of them, and by the closed form.
struct SpreadCase {
  std::optional<CollectiveFit::Curve> curve;
  GroupShape shape;
  const Joint* joint = nullptr;
};

std::optional<SpreadCase> case_on(const SpreadSystem& system, CollectiveOp op, unsigned ranks) {
  const auto chips = first_chips_of_nodes(system.node, ranks, 1);
  if (!chips) return std::nullopt;
  SpreadCase made;
  made.curve = CollectiveFit::builtin().curve({system.name, "NCCL", "", "", op, ranks, 1},
                                              CollectiveSource::kTable);
  made.shape = *group_shape(system.node, *chips);
  made.joint = &system.platform.joint(ranks, 1);
  if (!made.curve || made.joint->over_pcie) return std::nullopt;
  return made;
}

/// One size of a system's curve, forecast from another's.
struct MovedMiss {
  double distance = 0, log_error = 0;
};

/// Sizes that all of these curves cover.
void add_misses(const SpreadSystem& from, const SpreadSystem& to, CollectiveOp op, unsigned ranks,
                std::vector<MovedMiss>& out) {
  const auto a = case_on(from, op, ranks), b = case_on(to, op, ranks);
  if (!a || !b || a->joint->fabric != b->joint->fabric) return;
  const MovedCurve moved([&](Bytes size) { return a->curve->time(size); },
                         [&](Bytes size) { return form_time(from.node, a->shape, op, size); },
                         [&](Bytes size) { return form_time(to.node, b->shape, op, size); });
  for (int power = 11; power <= 26; ++power) {
    const Bytes size{std::exp2(power)};
    const Seconds old = a->curve->time(size);
    const double factor = moved.factor(size, old);
    out.push_back({std::abs(std::log(factor)), std::log(b->curve->time(size) / (old * factor))});
  }
}

/// Of those far enough for distance to count; and how many pairs of systems they are of.
std::pair<std::vector<MovedMiss>, std::size_t> far_misses() {
  constexpr double kFar = 0.5;
  const std::vector<SpreadSystem> systems = measured_nodes();
  std::vector<MovedMiss> all;
  std::set<std::set<std::string>> pairs;
  for (const SpreadSystem& from : systems) {
    for (const SpreadSystem& to : systems) {
      if (from.name == to.name) continue;
      const std::size_t before = all.size();
      for (int op = 0; op <= static_cast<int>(CollectiveOp::kBarrier); ++op) {
        for (const unsigned ranks : {2U, 4U, 8U})
          add_misses(from, to, static_cast<CollectiveOp>(op), ranks, all);
      }
      std::erase_if(all, [](const MovedMiss& miss) { return miss.distance < kFar; });
      if (all.size() > before) pairs.insert({from.name, to.name});
    }
  }
  return {all, pairs.size()};
}

TEST(MovedSpread, IsThatOfSystemsForecastFromEachOther) {
  const auto [misses, pairs] = far_misses();
  ASSERT_GT(misses.size(), 300U);
  EXPECT_GT(pairs, 10U);
  std::vector<double> per_fold;
  std::size_t held = 0;
  for (const MovedMiss& miss : misses) {
    per_fold.push_back(std::abs(miss.log_error) / miss.distance);
    if (std::abs(miss.log_error) <= fit_constants().per_fold * miss.distance) ++held;
  }
  std::ranges::sort(per_fold);
  const double found = per_fold[per_fold.size() * 4 / 5];
  EXPECT_NEAR(fit_constants().per_fold, found, 0.02)
      << misses.size() << " times of " << pairs << " pairs of systems: say so in [moved] of "
      << "catalog/collectives/constants.toml";
  const double share = static_cast<double>(held) / static_cast<double>(misses.size());
  EXPECT_NEAR(share, 0.8, 0.03);
}

}  // namespace
}  // namespace flopcast::network
