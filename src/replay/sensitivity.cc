#include "replay/sensitivity.h"

#include <algorithm>
#include <tuple>

#include "flopcast/engine/times.h"
#include "flopcast/replay/parts.h"
#include "replay/thinned.h"

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
  /// @param of_task the part of each task; @param host gaps of the graph if that part is the host's
  Faster(const Graph& graph, const std::vector<std::uint32_t>& of_task, const HostTime& host,
         std::uint32_t part)
      : duration_(graph.duration), edge_lag_(graph.edge_lag), fills_(graph.fills) {
    const bool of_host = part == Parts::kHostPart;
    // Between operators, and from one thread to the next, the host works at what is not recorded.
    gap_ = of_host ? &host.gap : &graph.gap;
    if (of_host) work_ = host.work;
    for (TaskId t = 0; t < graph.task_count(); ++t) {
      const bool of_part = of_task[t] == part;
      if (!of_part && !of_host) continue;
      if (of_part) shorten(duration_, t);
      if (of_part && !graph.fills.empty()) fills_.set(t, less(fills_[t]));
      for (std::uint32_t e = graph.edge_begin[t]; e < graph.edge_begin[t + 1]; ++e) {
        if (of_host && graph.edge_kind(e) == EdgeKind::kThread) shorten(edge_lag_, e);
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
    times.gap = gap_;
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

  Column duration_, edge_lag_, fills_;
  const std::vector<Time>* gap_;
  Time work_;
};

/// The tasks between which the steps lie on the host.
std::vector<bool> tasks_of_points(const std::vector<std::vector<StepTasks>>& steps,
                                  const Assembly& assembly) {
  std::vector<bool> wanted(assembly.graph.task_count(), false);
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    const TaskMap::Rank& map = assembly.map.ranks[rank];
    const auto want = [&](std::uint32_t thread, std::uint32_t piece) {
      if (thread == kNoIndex || piece == kNoIndex) return;
      wanted[map.piece_first[thread][piece]] = wanted[map.piece_last[thread][piece]] = true;
    };
    for (const StepTasks& step : steps[rank]) {
      for (const HostPoint& point : {step.start, step.end}) {
        want(point.thread, point.piece);
        want(point.thread, point.cap);
      }
    }
  }
  return wanted;
}

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

std::optional<SensitivityQuestion> ask_sensitivity(const TraceSet& set, const Recording& recording,
                                                   const Assembly& assembly, const Run& run) {
  SensitivityQuestion question;
  question.steps = steps_of(set, recording, assembly);
  const std::optional<Time> now = mean_gpu_step(question.steps, assembly, run);
  if (!now) return std::nullopt;
  question.gpu_step = *now;
  const Parts parts(set, recording);
  question.parts = parts.names();
  question.of_task = parts.of_tasks(assembly);
  for (std::uint32_t part = 0; part < question.parts.size(); ++part) {
    // Of a recording without host rows, or a model that leaves the host out, there is none.
    if (std::find(question.of_task.begin(), question.of_task.end(), part) != question.of_task.end())
      question.present.push_back(part);
  }
  return question;
}

SensitivityTable measure_sensitivity(SensitivityQuestion question, Assembly assembly,
                                     unsigned threads) {
  SensitivityTable table;
  table.gpu_step = question.gpu_step;
  table.parts.resize(question.present.size());
  const HostTime host =
      thin(assembly, tasks_of_points(question.steps, assembly), question.of_task, less);
  parallel_for(question.present.size(), threads, [&](std::size_t i) {
    const std::uint32_t part = question.present[i];
    const Faster faster(assembly.graph, question.of_task, host, part);
    const std::optional<Run> changed =
        run_times(assembly.graph, faster.times(assembly.graph), assembly.release);
    table.parts[i] = {question.parts[part], faster.work(),
                      changed ? mean_gpu_step(question.steps, assembly, *changed) : std::nullopt};
  });
  std::sort(table.parts.begin(), table.parts.end(),
            [](const WorkSensitivity& a, const WorkSensitivity& b) {
              return std::tuple(a.gpu_step.value_or(Time::max()), a.part) <
                     std::tuple(b.gpu_step.value_or(Time::max()), b.part);
            });
  return table;
}

}  // namespace flopcast::replaying
