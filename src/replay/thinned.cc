#include "replay/thinned.h"

#include "flopcast/replay/parts.h"

namespace flopcast::replaying {
namespace {

/// Tasks that are tied to others by more than the order of their thread.
std::vector<bool> tied_tasks(const Graph& g, const std::vector<Time>& release) {
  std::vector<bool> tied(g.task_count(), false);
  for (TaskId t = 0; t < g.task_count(); ++t) {
    const Processor& processor = g.processors[g.processor[t]];
    const bool in_order = processor.kind == Processor::Kind::kThread && t != processor.first;
    const bool edges = g.edge_begin[t] != g.edge_begin[t + 1] || g.pending[t] != 1;
    if (!in_order || edges || release[t] != Time::min()) tied[t] = true;
    if (g.launcher[t] != kNoTask) tied[g.launcher[t]] = true;
  }
  for (const RuntimeWait& wait : g.waits) tied[wait.task] = true;
  for (const std::uint32_t source : g.wait_sources) {
    if ((source & kFixedSource) != 0) tied[source & ~kFixedSource] = true;
  }
  return tied;
}

class Thinner {
 public:
  Thinner(Assembly& assembly, std::vector<std::uint32_t>& part, Time (*faster)(Time))
      : out_(assembly),
        g_(assembly.graph),
        part_(part),
        faster_(faster),
        place_(g_.task_count(), kNoTask) {}

  HostTime run(const std::vector<bool>& wanted) {
    const std::vector<bool> tied = tied_tasks(g_, out_.release);
    const std::uint32_t edges = g_.edge_begin.back();
    for (Processor& p : g_.processors) {
      const TaskId first = next_;
      pass_ = {};
      for (TaskId t = p.first; t < p.last; ++t) {
        pass_gap(t, p.kind == Processor::Kind::kThread);
        tied[t] || wanted[t] ? keep(t) : leave_out(t);
      }
      p.first = first;
      p.last = next_;
    }
    g_.edge_begin[next_] = edges;
    shorten_columns();
    renumber();
    return std::move(host_);
  }

 private:
  /// Time since the last task that was kept.
  struct Passed {
    Time now, faster;
  };

  void pass(Time time, bool host_work) {
    const bool shorter = host_work && time > Time{};
    pass_.now += time;
    pass_.faster += shorter ? faster_(time) : time;
    if (shorter) host_.work += time;
  }
  void pass_gap(TaskId t, bool on_thread) { pass(g_.gap[t], on_thread); }
  void leave_out(TaskId t) { pass(g_.duration[t], part_[t] == Parts::kHostPart); }

  /// Columns are rewritten where they are: a task never moves back.
  void keep(TaskId t) {
    const TaskId to = next_++;
    place_[t] = to;
    g_.duration[to] = g_.duration[t];
    g_.gap[to] = pass_.now;
    host_.gap.push_back(pass_.faster);
    pass_ = {};
    g_.processor[to] = g_.processor[t];
    g_.name[to] = g_.name[t];
    g_.kind[to] = g_.kind[t];
    g_.launcher[to] = g_.launcher[t];
    g_.pending[to] = g_.pending[t];
    g_.edge_begin[to] = g_.edge_begin[t];
    if (!g_.room.empty()) g_.room[to] = g_.room[t];
    if (!g_.fills.empty()) g_.fills[to] = g_.fills[t];
    out_.release[to] = out_.release[t];
    part_[to] = part_[t];
  }

  void shorten_columns() {
    const auto shorten = [this](auto&... columns) { (columns.resize(next_), ...); };
    shorten(g_.duration, g_.gap, g_.processor, g_.name, g_.kind, g_.launcher, g_.pending);
    shorten(out_.release, part_);
    g_.edge_begin.resize(next_ + 1);
    if (!g_.room.empty()) g_.room.resize(next_);
    if (!g_.fills.empty()) g_.fills.resize(next_);
  }

  void renumber() {
    const auto place = [this](TaskId& t) {
      if (t != kNoTask) t = place_[t];
    };
    for (TaskId& t : g_.launcher) place(t);
    for (TaskId& t : g_.edge_target) place(t);
    for (RuntimeWait& wait : g_.waits) place(wait.task);
    for (std::uint32_t& source : g_.wait_sources) {
      if ((source & kFixedSource) != 0) source = place_[source & ~kFixedSource] | kFixedSource;
    }
    for (TaskMap::Rank& rank : out_.map.ranks) {
      for (auto* pieces : {&rank.piece_first, &rank.piece_last}) {
        for (std::vector<TaskId>& thread : *pieces) {
          for (TaskId& t : thread) place(t);
        }
      }
      for (auto* tasks : {&rank.gpu_first, &rank.gpu_last}) {
        for (TaskId& t : *tasks) place(t);
      }
    }
    out_.map.task_rank = out_.map.task_row = {};  // nobody asks what is left whose it is
  }

  Assembly& out_;
  Graph& g_;
  std::vector<std::uint32_t>& part_;
  Time (*faster_)(Time);
  std::vector<TaskId> place_;  // of each task before: its number now
  TaskId next_ = 0;
  Passed pass_;
  HostTime host_;
};

}  // namespace

HostTime thin(Assembly& assembly, const std::vector<bool>& wanted, std::vector<std::uint32_t>& part,
              Time (*faster)(Time)) {
  return Thinner(assembly, part, faster).run(wanted);
}

}  // namespace flopcast::replaying
