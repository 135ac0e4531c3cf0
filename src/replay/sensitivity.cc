#include "replay/sensitivity.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "flopcast/replay/network_times.h"
#include "flopcast/replay/timeline.h"

namespace flopcast::replaying {
namespace {

/// Which part of the work each task is, and how long its parts take.
class Parts {
 public:
  static constexpr const char* kHost = "host";

  Parts(const TraceSet& set, const Recording& recording, const Assembly& assembly)
      : set_(set), rec_(recording), of_task_(assembly.graph.task_count(), kNoIndex) {
    const Graph& g = assembly.graph;
    for (TaskId t = 0; t < g.task_count(); ++t) {
      const bool host = g.processors[g.processor[t]].kind == Processor::Kind::kThread;
      // Waiting is no work: a sync lasts as long as what it waits for.
      if (host && g.kind[t] != TaskKind::kSync) of_task_[t] = part(kHost);
      if (g.kind[t] == TaskKind::kCopy) of_task_[t] = part("copies");
      if (g.kind[t] == TaskKind::kCompute) of_task_[t] = part(kernel_part(g.name[t]));
    }
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      for (std::uint32_t t = 0; t < rec_.ranks[r].gpu.size(); ++t) {
        const TaskId task = assembly.map.ranks[r].gpu_last[t];
        if (g.kind[task] == TaskKind::kTransfer)
          of_task_[task] = part(collective_part(rec_.ranks[r].gpu[t], g.name[task]));
      }
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  std::uint32_t of(TaskId task) const { return of_task_[task]; }

 private:
  std::uint32_t part(const std::string& name) {
    const auto known = std::find(names_.begin(), names_.end(), name);
    if (known != names_.end()) return static_cast<std::uint32_t>(known - names_.begin());
    names_.push_back(name);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  /// Names are few, and looked at once.
  const char* kernel_part(std::uint32_t name) {
    const auto [known, fresh] = kernel_parts_.try_emplace(name, "other_kernels");
    if (!fresh) return known->second;
    const KernelKind kind = kernel_kind(set_.strings[name]);
    if (kind == KernelKind::kGemm) known->second = "gemm";
    if (kind == KernelKind::kAttention) known->second = "attention";
    return known->second;
  }

  /// "all_reduce"; kernels that hide their operation together. Sends and receives are recorded as
  /// "coalesced": the kernel tells then.
  std::string collective_part(const GpuTask& task, std::uint32_t kernel) {
    const std::uint32_t name =
        task.collective == kNoIndex ? kernel : rec_.collectives[task.collective].name;
    const auto [known, fresh] = collective_parts_.try_emplace({name, kernel});
    if (!fresh) return known->second;
    std::optional<CollectiveOp> op = operation_of(set_.strings[name]);
    if (!op) op = operation_of(set_.strings[kernel]);
    known->second = op ? std::string(flopcast::name(*op)) : "other_communication";
    return known->second;
  }

  const TraceSet& set_;
  const Recording& rec_;
  std::vector<std::uint32_t> of_task_;
  std::vector<std::string> names_;
  std::map<std::uint32_t, const char*> kernel_parts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> collective_parts_;
};

Time less(Time time) {
  return Time{
      static_cast<std::int64_t>(static_cast<double>(time.ps) * (1 - SensitivityTable::kLessTime))};
}

/// The graph with one part of the work faster, until it is put back.
class Faster {
 public:
  Faster(Graph& graph, const Parts& parts, std::uint32_t part)
      : g_(graph), duration_(graph.duration), gap_(graph.gap), edge_lag_(graph.edge_lag) {
    const bool host = parts.names()[part] == Parts::kHost;
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      // Between operators, and from one thread to the next, the host works at what is not recorded.
      const bool on_thread = g_.processors[g_.processor[t]].kind == Processor::Kind::kThread;
      if (host && on_thread) shorten(g_.gap[t]);
      const bool of_part = parts.of(t) == part;
      if (of_part) shorten(g_.duration[t]);
      for (std::uint32_t e = g_.edge_begin[t]; e < g_.edge_begin[t + 1]; ++e) {
        if (host && g_.edge_kind(e) == EdgeKind::kThread) shorten(g_.edge_lag[e]);
        // What an occupant leaves to others, it leaves sooner; its time is counted already.
        if (of_part && g_.edge_kind(e) == EdgeKind::kOccupancy)
          g_.edge_lag[e] = less(g_.edge_lag[e]);
      }
    }
  }
  ~Faster() {
    g_.duration.swap(duration_);
    g_.gap.swap(gap_);
    g_.edge_lag.swap(edge_lag_);
  }
  Faster(const Faster&) = delete;
  Faster& operator=(const Faster&) = delete;
  Time work() const { return work_; }

 private:
  void shorten(Time& time) {
    if (time <= Time{}) return;
    work_ += time;
    time = less(time);
  }

  Graph& g_;
  std::vector<Time> duration_, gap_, edge_lag_;
  Time work_;
};

std::optional<Time> mean_gpu_step(const TraceSet& set, const Recording& recording,
                                  const Timeline& recorded, const Assembly& assembly,
                                  const Run& run) {
  const Timeline replayed = replayed_timeline(recording, recorded, assembly, run);
  Time sum;
  std::int64_t count = 0;
  for (const RankModel& rank : recording.ranks) {
    for (const StepResult& step : step_results(set, rank, recorded, replayed)) {
      if (!step.replayed_gpu) continue;
      sum += *step.replayed_gpu;
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(Time{sum.ps / count});
}

}  // namespace

std::optional<SensitivityTable> measure_sensitivity(const TraceSet& set, const Recording& recording,
                                                    const Timeline& recorded, Assembly& assembly,
                                                    const Run& run) {
  const auto step = [&](const Run& of) {
    return mean_gpu_step(set, recording, recorded, assembly, of);
  };
  const std::optional<Time> now = step(run);
  if (!now) return std::nullopt;
  SensitivityTable table;
  table.gpu_step = *now;
  const Parts parts(set, recording, assembly);
  for (std::uint32_t part = 0; part < parts.names().size(); ++part) {
    const Faster faster(assembly.graph, parts, part);
    const Result<Run> changed = simulate(assembly.graph, assembly.release);
    table.parts.push_back(
        {parts.names()[part], faster.work(), changed ? step(*changed) : std::nullopt});
  }
  std::sort(table.parts.begin(), table.parts.end(),
            [](const WorkSensitivity& a, const WorkSensitivity& b) {
              return std::tuple(a.gpu_step.value_or(Time::max()), a.part) <
                     std::tuple(b.gpu_step.value_or(Time::max()), b.part);
            });
  return table;
}

}  // namespace flopcast::replaying
