#include "whatif/planned/step_run.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "flopcast/analytic/graph.h"

namespace flopcast::whatif::planned {
namespace {

StepWork work_of(const Step& step) {
  StepWork work;
  work.schedule = step.schedule;
  for (const Stage& stage : step.stages) {
    work.stages.push_back(
        {{stage.times.forward}, {stage.times.input}, {stage.times.weight}, {stage.send}});
  }
  for (const Chip& chip : step.chips) {
    work.chips.push_back({{chip.gather}, {chip.reduce}, {chip.optimizer}});
  }
  work.fixed = {step.fixed};
  return work;
}

/// A message between two chips.
struct ChipMessage {
  TaskId send = 0;
  std::uint32_t from = 0, to = 0;  // chips
  std::int64_t stream = 0;         // of the sender
};

/// A row that is added to those of a step's trace.
struct ReceiveRow {
  Time start, end;
  std::uint32_t name = 0;
  std::size_t message = 0;
};

class StepRecorder {
 public:
  StepRecorder(StepRun run, const std::string& label)
      : run_(std::move(run)), set_(std::make_shared<TraceSet>(step_trace(run_))) {
    set_->label = label;
  }

  RecordedStep take() {
    find_places();
    find_messages();
    for (std::uint32_t chip = 0; chip < run_.chips; ++chip) {
      add_receives(chip);
      wait_for_end(chip);
      sort_rows(set_->traces[chip].events);
    }
    for (std::uint32_t chip = 0; chip < run_.chips; ++chip) {
      rec_.ranks.push_back(replaying::make_rank_model(*set_, chip, Time{}));
      rec_.sync_waits.emplace_back();
      rec_.thread_edges.emplace_back();
      rec_.launch_latency.push_back(Time{});
      index_rows(chip);
    }
    for (std::uint32_t chip = 0; chip < run_.chips; ++chip) add_edges(chip);
    join_messages();
    join_end();
    replaying::update_arrivals(rec_.ranks, rec_.collectives);
    return {std::move(set_), std::move(rec_)};
  }

 private:
  // ---- the graph that ran -------------------------------------------------------------------------

  const Processor& processor(TaskId task) const {
    return run_.graph.processors[run_.graph.processor[task]];
  }
  bool on_stream(TaskId task) const { return processor(task).kind == Processor::Kind::kStream; }
  std::uint32_t chip_of(TaskId task) const {
    return static_cast<std::uint32_t>(processor(task).rank);
  }
  bool has_row(TaskId task) const {
    return on_stream(task) && run_.run.end[task] > run_.run.start[task];
  }

  /// Tasks that each task waits for on other processors.
  void find_places() {
    sources_.resize(run_.graph.task_count());
    for (TaskId t = 0; t < sources_.size(); ++t) {
      for (std::uint32_t e = run_.graph.edge_begin[t]; e < run_.graph.edge_begin[t + 1]; ++e) {
        sources_[run_.graph.edge_target[e]].push_back(t);
      }
    }
  }

  /// Where a task is a send to another chip.
  void find_messages() {
    for (TaskId t = 0; t < sources_.size(); ++t) {
      if (!on_stream(t)) continue;
      for (const TaskId source : sources_[t]) {
        if (!has_row(source) || chip_of(source) == chip_of(t)) continue;
        messages_.push_back({source, chip_of(source), chip_of(t), processor(source).id});
      }
    }
    std::sort(messages_.begin(), messages_.end(),
              [](const ChipMessage& a, const ChipMessage& b) { return a.send < b.send; });
    receive_.assign(messages_.size(), replaying::kNoIndex);
  }

  // ---- rows ---------------------------------------------------------------------------------------

  /// Messages from one chip by one of its streams come one after the other.
  void add_receives(std::uint32_t chip) {
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<ReceiveRow>> lines;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const ChipMessage& message = messages_[m];
      if (message.to != chip) continue;
      std::vector<ReceiveRow>& line = lines[{message.from, message.stream}];
      const Time posted = line.empty() ? Time{} : line.back().end;
      std::string_view name = run_.names[run_.graph.name[message.send]];
      name.remove_prefix(std::string_view("send").size());
      line.push_back({posted, run_.run.end[message.send],
                      set_->strings.intern(fmt::format("receive{}", name)), m});
    }
    Trace& trace = set_->traces[chip];
    const Track like = trace.tracks.front();
    std::int32_t stream = static_cast<std::int32_t>(trace.tracks.size());
    for (const auto& [from, line] : lines) {
      trace.tracks.push_back({like.pid, set_->strings.intern(std::to_string(stream)),
                              like.process_name,
                              set_->strings.intern(fmt::format("from chip {}", from.first))});
      for (const ReceiveRow& row : line) append(trace.events, row, stream);
      trace.row_counts[static_cast<int>(Category::kKernel)] += line.size();
      ++stream;
    }
  }

  /// A chip that is done early waits for the others in what all do together.
  void wait_for_end(std::uint32_t chip) {
    Events& ev = set_->traces[chip].events;
    for (TaskId t = 0; t < run_.graph.task_count(); ++t) {
      if (!has_row(t) || run_.tasks[t] != StepTask::kFixed || chip_of(t) != chip) continue;
      Time done;  // tasks of a stream are numbered in their order
      if (t > processor(t).first) done = run_.run.end[t - 1];
      for (std::size_t row = 0; row < ev.size(); ++row) {
        const bool own = ev.stream[row] == processor(t).id && ev.start[row] == run_.run.start[t];
        if (!own || ev.start[row] <= done) continue;
        ev.duration[row] = ev.end(row) - done;
        ev.start[row] = done;
        begins_[t] = done;
        break;
      }
    }
  }
  /// Start of a task's row.
  Time begin_of(TaskId task) const {
    const auto it = begins_.find(task);
    return it == begins_.end() ? run_.run.start[task] : it->second;
  }

  void append(Events& events, const ReceiveRow& row, std::int32_t stream) {
    receive_of_[{row.name, row.end}] = row.message;
    events.start.push_back(row.start);
    events.duration.push_back(row.end - row.start);
    events.name.push_back(row.name);
    events.track.push_back(static_cast<std::uint32_t>(stream));
    events.category.push_back(Category::kKernel);
    events.stream.push_back(stream);
    events.device.push_back(0);
    events.correlation.push_back(kNoId);
    events.external_id.push_back(kNoId);
    events.detail.push_back(kNoDetail);
    events.collective.push_back(kNoDetail);
  }

  static void sort_rows(Events& events) {
    std::vector<std::uint32_t> order(events.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return events.start[a] != events.start[b] ? events.start[a] < events.start[b]
                                                : events.duration[a] > events.duration[b];
    });
    const auto put = [&](auto& column) {
      auto sorted = column;
      for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
      column = std::move(sorted);
    };
    put(events.start), put(events.duration), put(events.name), put(events.track);
    put(events.category), put(events.stream), put(events.device), put(events.correlation);
    put(events.external_id), put(events.detail), put(events.collective);
  }

  // ---- the recording ------------------------------------------------------------------------------

  /// Which GPU task of the recording each task and each receive is.
  void index_rows(std::uint32_t chip) {
    std::map<std::pair<std::int64_t, Time>, std::uint32_t> at;  // by stream and start
    const replaying::RankModel& rank = rec_.ranks[chip];
    const Events& ev = rank.trace->events;
    for (std::uint32_t g = 0; g < rank.gpu.size(); ++g) {
      const std::uint32_t row = rank.gpu[g].row;
      at[{ev.stream[row], ev.start[row]}] = g;
      const auto received = receive_of_.find({ev.name[row], ev.end(row)});
      const bool receives = received != receive_of_.end();
      if (receives && messages_[received->second].to == chip) receive_[received->second] = g;
    }
    gpu_.resize(run_.graph.task_count(), replaying::kNoIndex);
    for (TaskId t = 0; t < gpu_.size(); ++t) {
      if (has_row(t) && chip_of(t) == chip) gpu_[t] = at[{processor(t).id, begin_of(t)}];
    }
  }

  /// The rows of this chip that a task waits for; of what has no row, those it waits for.
  void rows_before(TaskId task, std::uint32_t chip, std::vector<std::uint32_t>& out) const {
    for (const TaskId source : sources_[task]) {
      if (!on_stream(source) || chip_of(source) != chip) continue;
      if (has_row(source)) {
        out.push_back(gpu_[source]);
      } else {
        rows_before(source, chip, out);
      }
    }
  }

  void add_edges(std::uint32_t chip) {
    auto& edges = rec_.cross_stream.emplace_back().edges;
    const auto add = [&](std::uint32_t source, std::uint32_t target) {
      if (rec_.ranks[chip].gpu[source].stream == rec_.ranks[chip].gpu[target].stream) return;
      edges.push_back({source, target, EdgeKind::kEvent, false});
    };
    for (TaskId t = 0; t < gpu_.size(); ++t) {
      if (!has_row(t) || chip_of(t) != chip) continue;
      std::vector<std::uint32_t> before;
      rows_before(t, chip, before);
      for (const TaskId source : sources_[t]) {  // the end of the step, by way of its hub
        if (!on_stream(source)) rows_before(source, chip, before);
      }
      for (const std::uint32_t source : before) add(source, gpu_[t]);
      for (const std::uint32_t m : messages_to(t, chip)) add(receive_[m], gpu_[t]);
    }
    std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) {
      return std::tie(a.target, a.source) < std::tie(b.target, b.source);
    });
    edges.erase(std::unique(edges.begin(), edges.end(),
                            [](const auto& a, const auto& b) {
                              return a.target == b.target && a.source == b.source;
                            }),
                edges.end());
  }

  std::vector<std::uint32_t> messages_to(TaskId task, std::uint32_t chip) const {
    std::vector<std::uint32_t> out;
    for (const TaskId source : sources_[task]) {
      if (!has_row(source) || chip_of(source) == chip) continue;
      const auto it = std::lower_bound(messages_.begin(), messages_.end(), source,
                                       [](const ChipMessage& m, TaskId t) { return m.send < t; });
      out.push_back(static_cast<std::uint32_t>(it - messages_.begin()));
    }
    return out;
  }

  void join(std::vector<std::pair<std::uint32_t, std::uint32_t>> members) {  // chip, GPU task
    replaying::Collective joined;
    const auto number = static_cast<std::uint32_t>(rec_.collectives.size());
    for (const auto& [chip, task] : members) {
      replaying::GpuTask& gpu = rec_.ranks[chip].gpu[task];
      gpu.collective = number;
      joined.name = rec_.ranks[chip].trace->events.name[gpu.row];
      joined.members.push_back({chip, task, 0, Time{}});
    }
    rec_.collectives.push_back(std::move(joined));
  }

  void join_messages() {
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      join({{messages_[m].from, gpu_[messages_[m].send]}, {messages_[m].to, receive_[m]}});
    }
  }

  /// What every chip does after the last optimizer of all.
  void join_end() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> members;
    for (TaskId t = 0; t < gpu_.size(); ++t) {
      if (has_row(t) && run_.tasks[t] == StepTask::kFixed) members.push_back({chip_of(t), gpu_[t]});
    }
    if (members.size() > 1) join(std::move(members));
  }

  StepRun run_;
  std::shared_ptr<TraceSet> set_;
  replaying::Recording rec_;
  std::vector<std::vector<TaskId>> sources_;  // of each task
  std::vector<ChipMessage> messages_;         // by their send
  std::vector<std::uint32_t> receive_;        // of each message: its GPU task at the receiver
  std::map<std::pair<std::uint32_t, Time>, std::size_t> receive_of_;  // name and end: message
  std::vector<std::uint32_t> gpu_;                                    // of each task
  std::map<TaskId, Time> begins_;  // of tasks whose row begins with waiting
};

}  // namespace

Result<RecordedStep> run_recorded(const Step& step, const std::string& label) {
  Result<StepRun> run = run_step(work_of(step));
  if (!run) return run.error();
  return StepRecorder(std::move(*run), label).take();
}

}  // namespace flopcast::whatif::planned
