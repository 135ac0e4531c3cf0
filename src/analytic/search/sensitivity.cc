// What a step gains from a better chip or network: the model is made again with one number changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "analytic/step/training_state.h"
#include "flopcast/analytic/search.h"

namespace flopcast {

using namespace analytic;  // the room's own names

namespace {

using analytic::System;

constexpr double kMore = 1.1;

/// Of a number of the chip, or of the network.
struct Change {
  std::string number;
  bool of_network = false;
  std::function<void(Cluster&)> apply;
};

std::vector<Change> changes_of(const Cluster& cluster) {
  std::vector<Change> changes;
  changes.push_back({"matrix rate", false, [](Cluster& c) {
                       for (FlopsPerSecond& rate : c.chip.matrix) rate *= kMore;
                     }});
  changes.push_back({"hbm bandwidth", false, [](Cluster& c) { c.chip.hbm_bandwidth *= kMore; }});
  for (std::size_t i = 0; i < cluster.levels.size(); ++i) {
    const std::string& level = cluster.levels[i].name;
    changes.push_back({fmt::format("{} bandwidth", level), true,
                       [i](Cluster& c) { c.levels[i].port_bandwidth *= kMore; }});
    changes.push_back({fmt::format("{} latency", level), true,
                       [i](Cluster& c) { c.levels[i].latency *= kMore; }});
  }
  return changes;
}

/// Measurements are of machines as they are and do not move with a number. Under another name
/// kernels are scaled from the chip's by its rates (with its own rates, to the same times), and
/// collectives follow from the links.
std::string other_name(const Chip& chip) { return chip.name + " changed"; }

Result<KernelModel> scaled_kernels(const Chip& changed, const Catalog& catalog,
                                   KernelModelOptions options) {
  Chip chip = changed;
  chip.name = other_name(chip);
  if (options.relative.empty()) {
    options.relative = changed.name;
    if (auto kernels = KernelModel::make(chip, catalog, options)) return kernels;
    options.relative.clear();  // the chip has no measurements of its own
  }
  return KernelModel::make(chip, catalog, options);
}

Result<CollectiveModel> network_of_links(Cluster cluster, const Catalog& catalog) {
  cluster.chip.name = other_name(cluster.chip);
  return CollectiveModel::make(cluster, catalog);
}

class StepTimes {
 public:
  StepTimes(const TrainingModel& model, const Catalog& catalog, const Plan& plan,
            const Placement& placement, const TrainingOptions& options)
      : model_(model), catalog_(catalog), plan_(plan), placement_(placement), options_(options) {}

  /// @param of_network how collectives are priced: from the links, or as in the model.
  Result<Seconds> step(const Cluster& cluster, bool of_network) const {
    const System& own = *model_.state().system;
    Result<KernelModel> kernels = scaled_kernels(cluster.chip, catalog_, options_.kernels);
    if (!kernels) return kernels.error();
    Result<CollectiveModel> network = of_network ? network_of_links(cluster, catalog_)
                                                 : CollectiveModel::make(own.cluster, catalog_);
    if (!network) return network.error();
    auto system = std::make_shared<const System>(
        System{cluster, std::move(*kernels), std::move(*network), own.tiers, own.rated_power_w});
    const auto made = TrainingModel::State::make(model_.model(), std::move(system), options_);
    if (!made) return made.error();
    const auto estimate = made->estimate(plan_, &placement_);
    if (!estimate) return estimate.error();
    return estimate->step;
  }

 private:
  const TrainingModel& model_;
  const Catalog& catalog_;
  const Plan& plan_;
  const Placement& placement_;
  const TrainingOptions& options_;
};

}  // namespace

Result<std::vector<Sensitivity>> sensitivities(const TrainingModel& model, const Catalog& catalog,
                                               const Plan& plan, const Placement& placement,
                                               const TrainingOptions& options) {
  const StepTimes times(model, catalog, plan, placement, options);
  const Cluster& cluster = model.cluster();
  const Result<Seconds> with_chip = times.step(cluster, false);
  if (!with_chip) return with_chip.error();
  const Result<Seconds> with_links = times.step(cluster, true);
  if (!with_links) return with_links.error();
  std::vector<Sensitivity> all;
  for (const Change& change : changes_of(cluster)) {
    Cluster changed = cluster;
    change.apply(changed);
    const Result<Seconds> time = times.step(changed, change.of_network);
    if (!time) return time.error();
    all.push_back({change.number, *time / (change.of_network ? *with_links : *with_chip) - 1});
  }
  std::sort(all.begin(), all.end(), [](const Sensitivity& a, const Sensitivity& b) {
    const double x = std::abs(a.change), y = std::abs(b.change);
    return x != y ? x > y : a.number < b.number;
  });
  return all;
}

}  // namespace flopcast
