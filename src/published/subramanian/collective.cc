#include "published/subramanian/collective.h"

#include <algorithm>

namespace flopcast::published {
namespace {

// Constants of the published code, in no file and (the first) not in the paper.
constexpr double kFlopEfficiency = 0.8;

double inverse(const PaperSystem::Network& network) {
  return 1 / (network.bandwidth.value * network.efficiency);
}

}  // namespace

Rates::Rates(const PaperSystem& system)
    : seconds_per_matrix_flop(1 / (kFlopEfficiency * system.matrix.value)),
      seconds_per_vector_flop(1 / (kFlopEfficiency * system.vector.value)),
      seconds_per_hbm_byte(1 / system.hbm_bandwidth.value),
      matrix_per_vector(system.matrix.value / system.vector.value),
      nvlink_byte(inverse(system.nvlink)),
      nvlink_latency(system.nvlink.latency.value),
      nic_byte(inverse(system.infiniband)),
      nic_latency(system.infiniband.latency.value),
      nics_per_gpu(system.nics_per_gpu) {}

CollectiveCost collective_cost(const Rates& rates, PaperCollective kind, std::int64_t group,
                               std::int64_t in_domain, const PaperDefects& defects) {
  if (group == 1) return {};
  if (kind == PaperCollective::kPointToPoint) {
    return in_domain == 1 ? CollectiveCost{rates.nic_latency, rates.nic_byte}
                          : CollectiveCost{rates.nvlink_latency, rates.nvlink_byte};
  }
  const auto n = static_cast<double>(group);
  const bool tree = kind == PaperCollective::kBroadcast || kind == PaperCollective::kReduce;
  const double share = tree ? 1 : (n - 1) / n;
  const bool doubled = kind == PaperCollective::kAllReduce;
  const double once = doubled && !defects.allreduce_moves_once ? 2 * share : share;
  const std::int64_t domains = group / in_domain;
  if (in_domain == 1) return {rates.nic_latency * (n - 1), once * rates.nic_byte};
  if (domains == 1) return {rates.nvlink_latency * (n - 1), once * rates.nvlink_byte};
  const auto d = static_cast<double>(domains);
  const double nics = rates.nics_per_gpu * static_cast<double>(in_domain);
  return {rates.nic_latency * (d - 1) + rates.nvlink_latency * (n - d),
          (doubled ? 2 * share : share) * std::max(rates.nic_byte / nics, rates.nvlink_byte)};
}

}  // namespace flopcast::published

namespace flopcast {

Seconds paper_collective_time(const PaperSystem& system, PaperCollective kind, Bytes volume,
                              std::int64_t group, std::int64_t in_domain,
                              const PaperDefects& defects) {
  const published::Rates rates(system);
  return {published::collective_cost(rates, kind, group, in_domain, defects).time(volume.value)};
}

}  // namespace flopcast
