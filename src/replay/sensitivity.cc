#include "replay/sensitivity.h"

#include <algorithm>
#include <tuple>

#include "flopcast/replay/parts.h"
#include "flopcast/replay/steps.h"

namespace flopcast::replaying {
namespace {

Time less(Time time) {
  return Time{
      static_cast<std::int64_t>(static_cast<double>(time.ps) * (1 - SensitivityTable::kLessTime))};
}

/// A column of times some of which change: a copy from the first change on.
class Column {
 public:
  explicit Column(const std::vector<Time>& times) : now_(&times) {}
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  Time operator[](std::size_t i) const { return (*now_)[i]; }
  void set(std::size_t i, Time time) {
    if (now_ != &own_) own_ = *now_;
    now_ = &own_;
    own_[i] = time;
  }
  const std::vector<Time>* now() const { return now_; }

 private:
  const std::vector<Time>* now_;
  std::vector<Time> own_;
};

/// The times of a graph with one part of the work faster.
class Faster {
 public:
  /// @param of_task the part of each task.
  Faster(const Graph& graph, const std::vector<std::uint32_t>& of_task, std::uint32_t part)
      : duration_(graph.duration), gap_(graph.gap), edge_lag_(graph.edge_lag), fills_(graph.fills) {
    const bool host = part == Parts::kHostPart;
    for (TaskId t = 0; t < graph.task_count(); ++t) {
      // Between operators, and from one thread to the next, the host works at what is not recorded.
      const bool on_thread =
          host && graph.processors[graph.processor[t]].kind == Processor::Kind::kThread;
      if (on_thread) shorten(gap_, t);
      const bool of_part = of_task[t] == part;
      if (!of_part && !host) continue;
      if (of_part) shorten(duration_, t);
      if (of_part && !graph.fills.empty()) fills_.set(t, less(fills_[t]));
      for (std::uint32_t e = graph.edge_begin[t]; e < graph.edge_begin[t + 1]; ++e) {
        if (host && graph.edge_kind(e) == EdgeKind::kThread) shorten(edge_lag_, e);
        // What an occupant leaves to others, it leaves sooner; its time is counted already.
        if (of_part && graph.edge_kind(e) == EdgeKind::kOccupancy)
          edge_lag_.set(e, less(edge_lag_[e]));
      }
    }
  }
  /// @param graph of the tasks
  TimesInUse times(const Graph& graph) const {
    TimesInUse times(graph);
    times.duration = duration_.now();
    times.gap = gap_.now();
    times.edge_lag = edge_lag_.now();
    times.fills = fills_.now();
    return times;
  }
  Time work() const { return work_; }

 private:
  void shorten(Column& column, std::size_t i) {
    const Time time = column[i];
    if (time <= Time{}) return;
    work_ += time;
    column.set(i, less(time));
  }

  Column duration_, gap_, edge_lag_, fills_;
  Time work_;
};

/// Steps of every rank, as tasks: what a run makes of them needs no timelines of all rows.
std::vector<std::vector<StepTasks>> steps_of(const TraceSet& set, const Recording& recording,
                                             const Assembly& assembly) {
  std::vector<std::vector<StepTasks>> steps;
  for (const RankModel& rank : recording.ranks) {
    steps.push_back(step_tasks(set, rank));
    if (!assembly.map.ranks[rank.index].piece_first.empty()) continue;
    for (StepTasks& step : steps.back()) {  // a model that leaves the host out moves nothing on it
      step.start = fixed_point(step.measured_start);
      step.end = fixed_point(step.measured_end);
    }
  }
  return steps;
}

std::optional<Time> mean_gpu_step(const std::vector<std::vector<StepTasks>>& steps,
                                  const Assembly& assembly, const Run& run) {
  Time sum;
  std::int64_t count = 0;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    for (const StepTime& step : step_times(steps[rank], assembly.map.ranks[rank], run)) {
      if (!step.gpu()) continue;
      sum += *step.gpu();
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(Time{sum.ps / count});
}

}  // namespace

std::optional<SensitivityTable> measure_sensitivity(const TraceSet& set, const Recording& recording,
                                                    const Assembly& assembly, const Run& run,
                                                    unsigned threads) {
  const std::vector<std::vector<StepTasks>> steps = steps_of(set, recording, assembly);
  const auto step = [&](const Run& of) { return mean_gpu_step(steps, assembly, of); };
  const std::optional<Time> now = step(run);
  if (!now) return std::nullopt;
  SensitivityTable table;
  table.gpu_step = *now;
  const Parts parts(set, recording);
  const std::vector<std::uint32_t> of_task = parts.of_tasks(assembly);
  std::vector<std::uint32_t> present;
  for (std::uint32_t part = 0; part < parts.names().size(); ++part) {
    // Of a recording without host rows, or a model that leaves the host out, there is none.
    if (std::find(of_task.begin(), of_task.end(), part) != of_task.end()) present.push_back(part);
  }
  table.parts.resize(present.size());
  parallel_for(present.size(), threads, [&](std::size_t i) {
    const Faster faster(assembly.graph, of_task, present[i]);
    const Result<Run> changed =
        simulate(assembly.graph, faster.times(assembly.graph), assembly.release);
    table.parts[i] = {parts.names()[present[i]], faster.work(),
                      changed ? step(*changed) : std::nullopt};
  });
  std::sort(table.parts.begin(), table.parts.end(),
            [](const WorkSensitivity& a, const WorkSensitivity& b) {
              return std::tuple(a.gpu_step.value_or(Time::max()), a.part) <
                     std::tuple(b.gpu_step.value_or(Time::max()), b.part);
            });
  return table;
}

}  // namespace flopcast::replaying
