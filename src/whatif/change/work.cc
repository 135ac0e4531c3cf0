#include "whatif/change/work.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "flopcast/replay/network_times.h"

namespace flopcast::whatif {

using namespace replaying;

Work::Work(const TraceSet& set, const Recording& recording) : of_(recording.ranks.size()) {
  std::vector<std::uint32_t> of_kernel(set.strings.size(), kNoIndex);              // by name
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> of_collective;  // and kernel
  const auto kernel_part = [&](std::uint32_t name) {
    const KernelKind kind = kernel_kind(set.strings[name]);
    return part(kind == KernelKind::kGemm        ? "gemm"
                : kind == KernelKind::kAttention ? "attention"
                                                 : "other_kernels",
                false);
  };
  // Sends and receives are recorded as "coalesced": the kernel tells then.
  const auto collective_part = [&](std::uint32_t name, std::uint32_t kernel) {
    std::optional<CollectiveOp> op = operation_of(set.strings[name]);
    if (!op) op = operation_of(set.strings[kernel]);
    return part(op ? flopcast::name(*op) : "other_communication", true);
  };
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    const Events& events = rank.trace->events;
    for (const GpuTask& task : rank.gpu) {
      const std::uint32_t kernel = events.name[task.row];
      if (task.communication) {
        const std::uint32_t name =
            task.collective == kNoIndex ? kernel : recording.collectives[task.collective].name;
        const auto [known, fresh] = of_collective.try_emplace({name, kernel});
        if (fresh) known->second = collective_part(name, kernel);
        of_[r].push_back(known->second);
      } else if (events.category[task.row] == Category::kKernel) {
        std::uint32_t& known = of_kernel[kernel];
        if (known == kNoIndex) known = kernel_part(kernel);
        of_[r].push_back(known);
      } else {
        of_[r].push_back(part("copies", false));
      }
    }
  }
}

std::uint32_t Work::part(std::string_view name, bool communication) {
  const auto known = std::find(parts_.begin(), parts_.end(), name);
  if (known != parts_.end()) return static_cast<std::uint32_t>(known - parts_.begin());
  parts_.emplace_back(name);
  communication_.push_back(communication);
  return static_cast<std::uint32_t>(parts_.size() - 1);
}

}  // namespace flopcast::whatif
