#include "serving/iteration/cluster_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>

namespace flopcast::serving {
namespace {

/// Everything of a cluster that prices depend on, as text.
std::string cluster_key(const Cluster& cluster) {
  const Chip& chip = cluster.chip;
  std::string key = fmt::format("{}|{}|{}|{}|{}", chip.name, chip.vendor, chip.architecture,
                                chip.hbm_bandwidth.value, chip.cores);
  for (const FlopsPerSecond rate : chip.matrix) key += fmt::format("|{}", rate.value);
  for (const FlopsPerSecond rate : chip.vector) key += fmt::format("|{}", rate.value);
  for (const Level& level : cluster.levels) {
    key += fmt::format("|{} {} {} {} {} {} {} {} {} {}", static_cast<int>(level.fabric), level.size,
                       level.ports, level.port_bandwidth.value, level.latency.value,
                       level.efficiency, level.oversubscription, level.in_network_reduction,
                       name(level.transport), name(level.attachment));
    for (const unsigned size : level.shape) key += fmt::format(" {}", size);
  }
  key += fmt::format("|{}", cluster.node_levels);
  for (const auto& fit : cluster.fits) {
    fmt::format_to(std::back_inserter(key), "|{} {}", fit->path,
                   std::hash<std::string>{}(fit->text));
  }
  return cluster.nominal ? key + "|of " + cluster_key(*cluster.nominal) : key;
}

/// Clusters asked for of late. Only of the built-in catalogue: others may change what a name means.
class RecentModels {
 public:
  std::shared_ptr<const ClusterModels> find(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = models_.find(key);
    return found == models_.end() ? nullptr : found->second;
  }
  void keep(const std::string& key, std::shared_ptr<const ClusterModels> models) {
    constexpr std::size_t kMostKept = 32;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (models_.size() >= kMostKept) models_.clear();
    models_.emplace(key, std::move(models));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ClusterModels>> models_;
};

}  // namespace

double TransferCurve::at(double bytes) const {
  if (seconds.empty() || bytes <= 0) return 0;
  const double log2_bytes = std::log2(std::max(bytes, std::exp2(kLeast)));
  const auto i = std::min(static_cast<std::size_t>(log2_bytes - kLeast), seconds.size() - 2);
  const double low = std::exp2(kLeast + static_cast<int>(i));
  return seconds[i] +
         (seconds[i + 1] - seconds[i]) * (std::max(bytes, std::exp2(kLeast)) - low) / low;
}

Result<std::shared_ptr<const ClusterModels>> ClusterModels::make(const Cluster& cluster,
                                                                 const Catalog& catalog) {
  static RecentModels recent;
  const bool shared = &catalog == &Catalog::builtin() && !cluster.graph;
  const std::string key = shared ? cluster_key(cluster) : std::string();
  if (shared) {
    if (auto found = recent.find(key)) return found;
  }
  const MachineOptions options =
      with_uses({FitKind::kNetwork, FitKind::kKernels, FitKind::kServing, FitKind::kConstants},
                "a forecast of serving");
  Result<Machine> machine = Machine::make(cluster, catalog, options);
  if (!machine) return machine.error();
  // What engines spare of small messages was measured on machines of the catalogue as they are.
  const auto of_network = [](const auto& fit) { return fit->kind == FitKind::kNetwork; };
  std::optional<Machine> nominal;
  if (cluster.nominal || std::ranges::any_of(cluster.fits, of_network)) {
    Cluster plain = cluster.as_measured();
    std::erase_if(plain.fits, of_network);
    Result<Machine> made = Machine::make(std::move(plain), catalog, options);
    if (!made) return made.error();
    nominal = std::move(*made);
  }
  std::shared_ptr<const ClusterModels> models(
      new ClusterModels(std::move(*machine), std::move(nominal)));
  if (shared) recent.keep(key, models);
  return models;
}

double ClusterModels::least_seconds(const CollectiveModel& transfers, CollectiveQuery query) const {
  query.size = Bytes{std::exp2(TransferCurve::kLeast)};
  const Result<CollectiveEstimate> time = transfers.estimate(query);
  return time ? time->time.value : 0;
}

const TransferCurve& ClusterModels::curve(CollectiveOp op, unsigned count, unsigned stride) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, fresh] = curves_.try_emplace({op, count, stride});
  TransferCurve& curve = at->second;
  if (!fresh || count < 2) return curve;
  CollectiveQuery query;
  query.op = op;
  for (unsigned i = 0; i < count; ++i) query.ranks.push_back(i * stride);
  for (int exponent = TransferCurve::kLeast; exponent <= TransferCurve::kMost; ++exponent) {
    query.size = Bytes{std::exp2(exponent)};
    const Result<CollectiveEstimate> time = machine_.transfers().estimate(query);
    // Every group lies on the cluster, and rings exist for every size.
    const double before = curve.seconds.empty() ? 0 : curve.seconds.back();
    curve.seconds.push_back(time ? std::max(before, time->time.value) : before);
    if (time) curve.basis = time->basis;
  }
  curve.nominal_least =
      nominal_ ? least_seconds(nominal_->transfers(), query) : curve.seconds.front();
  return curve;
}

double ClusterModels::peak(GemmType type) const {
  std::atomic<double>& known = peaks_[static_cast<std::size_t>(type)];
  if (const double peak = known.load(std::memory_order_relaxed); peak > 0) return peak;
  // Large enough to be bound by arithmetic on any chip.
  const Gemm gemm{std::int64_t{1} << 20, 1 << 14, 1 << 14, 1, type};
  const double peak = kernel_flops(gemm).value / kernels().time(gemm).roofline.value;
  known.store(peak, std::memory_order_relaxed);
  return peak;
}

}  // namespace flopcast::serving
