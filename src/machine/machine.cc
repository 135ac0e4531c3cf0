#include "flopcast/machine.h"

#include <algorithm>
#include <cmath>

namespace flopcast {

struct Machine::State {
  Cluster cluster;
  const Catalog* catalog;
  MachineOptions options;
  KernelModel kernels;
  CollectiveModel transfers;
};

Result<Machine> Machine::make(Cluster cluster, const Catalog& catalog,
                              const MachineOptions& options) {
  KernelModelOptions of_kernels = options.kernels;
  if (cluster.nominal && !of_kernels.nominal) of_kernels.nominal = cluster.nominal->chip;
  Result<KernelModel> kernels = KernelModel::make(cluster.chip, catalog, of_kernels);
  if (!kernels) return kernels.error();
  Result<CollectiveModel> transfers = CollectiveModel::make(cluster, options.collectives);
  if (!transfers) return transfers.error();
  return Machine(std::make_shared<const State>(
      State{std::move(cluster), &catalog, options, std::move(*kernels), std::move(*transfers)}));
}

Result<Machine> Machine::of(const Chip& chip, const Catalog& catalog,
                            const MachineOptions& options) {
  Cluster alone;
  alone.name = chip.name;
  alone.chip = chip;
  alone.levels = {Level{}};
  alone.levels[0].shape = {1};
  return make(std::move(alone), catalog, options);
}

Result<Machine> Machine::with(const Knob& knob, const QuantityChange& amount) const {
  Result<Cluster> changed = with_changed(state_->cluster, knob, amount);
  if (!changed) return changed.error();
  return make(std::move(*changed), *state_->catalog, state_->options);
}

const Cluster& Machine::cluster() const { return state_->cluster; }
const KernelModel& Machine::kernels() const { return state_->kernels; }
const CollectiveModel& Machine::transfers() const { return state_->transfers; }

double Machine::power_share(double exponent) const {
  const double power = state_->cluster.chip.power_w;
  const double rated = state_->cluster.as_measured().chip.power_w;
  if (rated <= 0 || power <= 0) return 1;
  return std::min(1.0, std::pow(power / rated, exponent));
}

}  // namespace flopcast
