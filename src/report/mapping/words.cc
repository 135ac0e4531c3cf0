#include "report/mapping/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "flopcast/mapping/explore.h"

namespace flopcast {

using namespace report;  // the room's own names

std::span<const ModelSwitch> report::model_switches() {
  using M = MappingModel;
  static constexpr ModelSwitch kSwitches[] = {
      {"shared_tensors", &M::shared_tensors},
      {"boundary_traffic", &M::boundary_traffic},
      {"weight_traffic", &M::weight_traffic},
      {"pieces_traffic", &M::pieces_traffic, false},
      {"gradient_traffic", &M::gradient_traffic},
      {"latency", &M::latency},
      {"training_state", &M::training_state},
      {"whole_left_operands", &M::whole_left_operands},
      {"reduce_scatter", &M::reduce_scatter},
      {"sharding_by_time", &M::sharding_by_time, false},
      {"send_per_microbatch", &M::send_per_microbatch},
      {"published_bubble", &M::published_bubble, false},
      {"hide_gradients", &M::hide_gradients, false},
      {"optimizer_step", &M::optimizer_step},
  };
  return kSwitches;
}

std::array<std::pair<std::string_view, Bytes>, 5> report::memory_parts(
    const MappingMemory& memory) {
  return {{{"weights", memory.weights},
           {"gradients", memory.gradients},
           {"optimizer", memory.optimizer},
           {"activations", memory.activations},
           {"live", memory.live}}};
}

Flops report::workload_flops(const DataflowWorkload& workload) {
  return workload.graph.work() * static_cast<double>(workload.layers) *
         static_cast<double>(workload.global_batch);
}

std::vector<std::pair<MappingLimit, double>> report::ranked_limits(const Mapping& mapping) {
  std::vector<std::pair<MappingLimit, double>> ranked;
  const auto shares = limit_shares(mapping);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) ranked.emplace_back(static_cast<MappingLimit>(i), shares[i]);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return ranked;
}

std::string report::proof_words(const Mapping& mapping) {
  if (mapping.exact) return "optimal";
  return fmt::format("gap {:.2g} %: no mapping takes less than {}", 100 * mapping.gap(),
                     time_words(mapping.bound));
}

std::string report::time_words(Seconds time) {
  constexpr Seconds kLong{1e6}, kDay{86400};
  return time < kLong ? short_time(time) : fmt::format("{:.4g} days", time / kDay);
}

std::vector<std::uint32_t> kernel_partitions(const MappingReport& report) {
  std::vector<std::uint32_t> partition(report.request.workload.graph.kernels.size());
  for (std::uint32_t p = 0; p < report.mapping.partitions.size(); ++p) {
    for (const std::uint32_t kernel : report.mapping.partitions[p].kernels) partition[kernel] = p;
  }
  return partition;
}

}  // namespace flopcast
