#include "flopcast/replay/parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "flopcast/replay/network_times.h"

namespace flopcast::replaying {
namespace {

/// Names are few, and looked at once each.
class PartFinder {
 public:
  PartFinder(const TraceSet& set, const Recording& recording, std::vector<std::string>& names)
      : set_(set), rec_(recording), names_(names) {}

  std::uint32_t of(const RankModel& rank, const GpuTask& task) {
    const std::uint32_t name = rank.trace->events.name[task.row];
    if (task.communication || task.collective != kNoIndex) return of_collective(task, name);
    const bool kernel = rank.trace->events.category[task.row] == Category::kKernel;
    const auto [known, fresh] = plain_.try_emplace({name, kernel}, 0);
    if (fresh) known->second = part(kernel ? kernel_part(name) : "copies");
    return known->second;
  }

 private:
  std::uint32_t part(const std::string& name) {
    const auto known = std::find(names_.begin(), names_.end(), name);
    if (known != names_.end()) return static_cast<std::uint32_t>(known - names_.begin());
    names_.push_back(name);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  const char* kernel_part(std::uint32_t name) const {
    const KernelKind kind = kernel_kind(set_.strings[name]);
    if (kind == KernelKind::kGemm) return "gemm";
    return kind == KernelKind::kAttention ? "attention" : "other_kernels";
  }

  std::uint32_t of_collective(const GpuTask& task, std::uint32_t kernel) {
    const std::uint32_t name =
        task.collective == kNoIndex ? kernel : rec_.collectives[task.collective].name;
    const auto [known, fresh] = collective_.try_emplace({name, kernel}, 0);
    if (!fresh) return known->second;
    const auto op = operation_of(set_.strings[name], set_.strings[kernel]);
    known->second = part(op ? std::string(flopcast::name(*op)) : "other_communication");
    return known->second;
  }

  const TraceSet& set_;
  const Recording& rec_;
  std::vector<std::string>& names_;
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> plain_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> collective_;
};

}  // namespace

Parts::Parts(const TraceSet& set, const Recording& recording) : names_{kHost} {
  PartFinder finder(set, recording, names_);
  for (const RankModel& rank : recording.ranks) {
    std::vector<std::uint32_t>& parts = of_gpu_.emplace_back();
    parts.reserve(rank.gpu.size());
    for (const GpuTask& task : rank.gpu) parts.push_back(finder.of(rank, task));
  }
}

std::uint32_t Parts::find(const std::string& name) const {
  const auto known = std::find(names_.begin(), names_.end(), name);
  return known == names_.end() ? kNoIndex : static_cast<std::uint32_t>(known - names_.begin());
}

}  // namespace flopcast::replaying
