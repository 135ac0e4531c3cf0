// What a step gains from a better chip or network: the machine with one number changed.
#include <algorithm>
#include <cmath>
#include <memory>

#include "analytic/step/training_state.h"
#include "flopcast/analytic/search.h"

namespace flopcast {

namespace {

using analytic::System;

constexpr QuantityChange kMore{1.1, true};

/// A number that is asked after, by name.
struct Asked {
  std::string number;
  Knob knob;
};

std::vector<Asked> asked_of(const Cluster& cluster) {
  std::vector<Asked> all = {{"matrix rate", {MachineNumber::kMatrixRate}},
                            {"hbm bandwidth", {MachineNumber::kHbmBandwidth}}};
  for (unsigned i = 0; i < cluster.levels.size() && !cluster.graph; ++i) {
    const std::string& level = cluster.levels[i].name;
    all.push_back({level + " bandwidth", {MachineNumber::kLinkBandwidth, i, 1}});
    all.push_back({level + " latency", {MachineNumber::kLinkLatency, i, 1}});
  }
  return all;
}

Result<Seconds> step_on(Machine machine, const TrainingModel& model, const Plan& plan,
                        const Placement& placement) {
  auto system = std::make_shared<const analytic::System>(
      analytic::System{std::move(machine), model.state().system->tiers});
  const auto made = TrainingModel::State::make(model.model(), std::move(system), model.options());
  if (!made) return made.error();
  const auto estimate = made->estimate(plan, &placement);
  if (!estimate) return estimate.error();
  return estimate->step;
}

}  // namespace

Result<std::vector<Sensitivity>> sensitivities(const TrainingModel& model, const Plan& plan,
                                               const Placement& placement) {
  const Machine& machine = model.state().system->machine;
  const Result<Seconds> now = step_on(machine, model, plan, placement);
  if (!now) return now.error();
  std::vector<Sensitivity> all;
  for (const Asked& asked : asked_of(machine.cluster())) {
    Result<Machine> changed = machine.with(asked.knob, kMore);
    if (!changed) continue;  // no hardware has more
    const Result<Seconds> time = step_on(std::move(*changed), model, plan, placement);
    if (!time) return time.error();
    all.push_back({asked.number, *time / *now - 1});
  }
  std::sort(all.begin(), all.end(), [](const Sensitivity& a, const Sensitivity& b) {
    const double x = std::abs(a.change), y = std::abs(b.change);
    return x != y ? x > y : a.number < b.number;
  });
  return all;
}

}  // namespace flopcast
