#include "flopcast/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "flopcast/cost/kernel_fit.h"
#include "flopcast/network/fit.h"

namespace flopcast {

namespace {

/// A file of the machine's owner as its room reads it; empty where its kind is read elsewhere.
struct OwnFit {
  std::optional<KernelFit> kernels;
  std::shared_ptr<const CollectiveFit> collectives;
};

Result<OwnFit> read_own(const FitFile& file) {
  OwnFit out;
  if (file.kind == FitKind::kKernels) {
    Result<KernelFit> fit = KernelFit::parse(file.text, file.path);
    if (!fit) return fit.error();
    out.kernels = std::move(*fit);
  } else if (file.kind == FitKind::kNetwork) {
    Result<CollectiveFit> fit = CollectiveFit::parse(file.text, file.path);
    if (!fit) return fit.error();
    out.collectives = std::make_shared<const CollectiveFit>(std::move(*fit));
  }
  return out;
}

/// Read once: searches make the same machine many times over.
Result<OwnFit> known_own(const std::shared_ptr<const FitFile>& file) {
  constexpr std::size_t kMost = 32;
  static std::mutex mutex;
  static std::map<std::shared_ptr<const FitFile>, OwnFit> known;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = known.find(file); found != known.end()) return found->second;
  Result<OwnFit> fit = read_own(*file);
  if (!fit) return fit.error();
  if (known.size() >= kMost) known.clear();
  return known.emplace(file, std::move(*fit)).first->second;
}

std::optional<Diagnostic> of_other_chip(const OwnKernels& own, const Cluster& cluster) {
  const std::string& chip = cluster.as_measured().chip.name;
  const Result<Chip> of = Catalog::builtin().chip(own.fit.chip());
  if (own.fit.chip() == chip || (of && of->name == chip)) return std::nullopt;
  return Diagnostic{
      ErrorCode::kUsage, own.file,
      fmt::format("holds kernels of {}, and the machine is of {}", own.fit.chip(), chip),
      "name a machine of the chip that was measured, or leave the fit out"};
}

struct OwnFits {
  std::vector<OwnKernels> kernels;
  std::vector<OwnCollectives> collectives;
};

Result<OwnFits> own_fits(const Cluster& cluster) {
  OwnFits own;
  for (const auto& file : cluster.fits) {
    const Result<OwnFit> fit = known_own(file);
    if (!fit) return fit.error();
    if (fit->collectives) own.collectives.push_back({fit->collectives, file->path});
    if (!fit->kernels) continue;
    own.kernels.push_back({*fit->kernels, file->path});
    if (auto problem = of_other_chip(own.kernels.back(), cluster)) return *problem;
  }
  return own;
}

}  // namespace

struct Machine::State {
  Cluster cluster;
  const Catalog* catalog;
  MachineOptions options;
  KernelModel kernels;
  CollectiveModel transfers;
};

Result<Machine> Machine::make(Cluster cluster, const Catalog& catalog,
                              const MachineOptions& options) {
  if (auto problem = unused_fit(cluster, options.uses, options.asker)) return *problem;
  const Result<OwnFits> own = own_fits(cluster);
  if (!own) return own.error();
  KernelModelOptions of_kernels = options.kernels;
  of_kernels.own = own->kernels;
  if (cluster.nominal && !of_kernels.nominal) of_kernels.nominal = cluster.nominal->chip;
  Result<KernelModel> kernels = KernelModel::make(cluster.chip, catalog, of_kernels);
  if (!kernels) return kernels.error();
  Result<CollectiveModel> transfers =
      CollectiveModel::make(cluster, options.collectives, own->collectives);
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
