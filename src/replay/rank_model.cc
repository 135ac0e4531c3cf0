#include "flopcast/replay/rank_model.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "replay/correlations.h"

namespace flopcast::replaying {
namespace {

/// Calls longer than this may have been held up inside (full launch queue, lazy module loading).
constexpr Time kLongCall = Time::from_us(50);
/// The work of a call that was held up starts at most this much before the call returns.
constexpr Time kBeforeEnd = Time::from_us(10);

/// Cuts one thread into self-time pieces: at every instant the innermost open row owns the time.
class ThreadCutter {
 public:
  ThreadCutter(RankModel& model, HostThread& thread, std::uint32_t thread_index)
      : model_(model), thread_(thread), thread_index_(thread_index) {}

  void add(std::uint32_t row, Time start, Time end, bool is_call) {
    close_until(start);
    if (!open_.empty()) emit(open_.back(), start);
    cursor_ = std::max(cursor_, start);
    if (!is_call) {
      open_.insert(above_calls(), {row, end, kNoIndex, kNoIndex, false, row});
      return;
    }
    const std::uint32_t around = open_.empty() ? kNoIndex : open_.back().op;
    open_.push_back({row, end, kNoIndex, kNoIndex, true, around});
    // A call has a piece even if it took no time: dependencies hang on it.
    open_.back().first = open_.back().last = static_cast<std::uint32_t>(thread_.pieces.size());
    thread_.pieces.push_back({row, cursor_, cursor_});
    add_call(open_.back(), start, end);
  }
  void finish() { close_until(Time::max()); }

 private:
  struct Open {
    std::uint32_t row;
    Time end;
    std::uint32_t first, last;  // pieces
    bool is_call;
    std::uint32_t op;  // innermost operator: itself, or one around it
    std::uint32_t call = kNoIndex;
  };

  /// Where an operator goes among the open rows. Calls hold no operators: one that seems to begin
  /// inside a call, by coarse or different clocks, is around it or begins at its end.
  std::vector<Open>::iterator above_calls() {
    auto at = open_.end();
    while (at != open_.begin() && std::prev(at)->is_call) --at;
    return at;
  }

  void close_until(Time now) {
    while (!open_.empty() && open_.back().end <= now) {
      emit(open_.back(), open_.back().end);
      if (open_.back().is_call) model_.calls[open_.back().call].last_piece = open_.back().last;
      open_.pop_back();
    }
  }

  void emit(Open& owner, Time until) {
    if (until <= cursor_) return;
    if (!thread_.pieces.empty() && thread_.pieces.back().row == owner.row &&
        thread_.pieces.back().end == cursor_) {
      thread_.pieces.back().end = until;
    } else {
      thread_.pieces.push_back({owner.row, cursor_, until});
    }
    owner.last = static_cast<std::uint32_t>(thread_.pieces.size() - 1);
    if (owner.first == kNoIndex) owner.first = owner.last;
    cursor_ = until;
  }

  void add_call(Open& open, Time start, Time end) {
    open.call = static_cast<std::uint32_t>(model_.calls.size());
    Call call;
    call.row = open.row;
    call.thread = thread_index_;
    call.first_piece = call.last_piece = open.first;
    call.start = start;
    call.end = end;
    call.op = open.op;
    model_.calls.push_back(std::move(call));
  }

  RankModel& model_;
  HostThread& thread_;
  std::uint32_t thread_index_;
  std::vector<Open> open_;
  Time cursor_ = Time::min();
};

/// Threads that hold operators or calls which order GPU work; pure polling threads are left out.
void cut_threads(const TraceSet& set, RankModel& model) {
  const Trace& trace = *model.trace;
  const Events& ev = trace.events;
  std::vector<std::uint8_t> matters(trace.tracks.size(), 0);
  std::vector<std::uint8_t> present(trace.tracks.size(), 0);
  std::vector<std::uint32_t> rows(trace.tracks.size(), 0);
  std::unordered_map<std::uint32_t, bool> polling;
  std::size_t calls = 0;
  for (std::size_t r = 0; r < ev.size(); ++r) {
    ++rows[ev.track[r]];
    if (ev.category[r] == Category::kCpuOp) {
      matters[ev.track[r]] = 1;
    } else if (is_host_call(ev.category[r])) {
      ++calls;
      present[ev.track[r]] = 1;
      const auto [it, fresh] = polling.try_emplace(ev.name[r], false);
      if (fresh) it->second = is_polling_call(set.strings[ev.name[r]]);
      if (!it->second) matters[ev.track[r]] = 1;
    }
  }
  std::vector<std::uint32_t> thread_of(trace.tracks.size(), kNoIndex);
  for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
    if (matters[t]) {
      thread_of[t] = static_cast<std::uint32_t>(model.threads.size());
      model.threads.push_back({t, {}, {}});
      model.threads.back().pieces.reserve(2 * rows[t]);  // nearly always enough
    } else if (present[t]) {
      ++model.polling_threads;
    }
  }
  model.calls.reserve(calls);
  std::vector<ThreadCutter> cutters;
  cutters.reserve(model.threads.size());
  for (std::uint32_t i = 0; i < model.threads.size(); ++i) {
    cutters.emplace_back(model, model.threads[i], i);
  }
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    const bool is_call = is_host_call(ev.category[r]);
    if (!is_call && ev.category[r] != Category::kCpuOp) continue;
    const std::uint32_t thread = thread_of[ev.track[r]];
    if (thread == kNoIndex) continue;
    const Time start = ev.start[r] + model.host_offset;
    cutters[thread].add(r, start, start + ev.duration[r], is_call);
  }
  for (ThreadCutter& cutter : cutters) cutter.finish();
  for (HostThread& thread : model.threads) thread.pieces.shrink_to_fit();
}

void index_calls(const TraceSet& set, RankModel& model) {
  const Events& ev = model.trace->events;
  std::unordered_map<std::uint32_t, CallKind> kinds;
  for (std::uint32_t c = 0; c < model.calls.size(); ++c) {
    Call& call = model.calls[c];
    const std::uint32_t name = ev.name[call.row];
    const auto [it, fresh] = kinds.try_emplace(name, CallKind::kOther);
    if (fresh) it->second = call_kind(set.strings[name]);
    call.kind = it->second;
    model.threads[call.thread].calls.push_back(c);
  }
}

/// Lanes of one stream: a task goes to the first whose last task ended by its start. Tasks come by
/// start, so that a lane that is free stays free until it is taken.
class Lanes {
 public:
  std::uint32_t take(RankModel& model, std::int32_t device, std::int32_t id, const GpuTask& task) {
    while (!busy_.empty() && busy_.top().first <= task.start + kInStreamOverlap) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::uint32_t lane = count_;
    if (free_.empty()) {
      ++count_;
      streams_.push_back(static_cast<std::uint32_t>(model.streams.size()));
      model.streams.push_back({device, id, static_cast<std::int32_t>(lane), {}});
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.push({task.end, lane});
    return streams_[lane];
  }

 private:
  template <typename T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> streams_;               // index into RankModel::streams, by lane
  LeastFirst<std::pair<Time, std::uint32_t>> busy_;  // until when, lane
  LeastFirst<std::uint32_t> free_;
};

void collect_gpu(const TraceSet& set, RankModel& model) {
  const Events& ev = model.trace->events;
  Correlations call_of(model.calls.size());
  for (std::uint32_t c = 0; c < model.calls.size(); ++c) {
    const std::int64_t id = ev.correlation[model.calls[c].row];
    if (id >= 0) call_of.add(id, c);
  }
  model.gpu.reserve(
      static_cast<std::size_t>(std::count_if(ev.category.begin(), ev.category.end(), is_gpu_work)));
  std::unordered_map<std::uint32_t, bool> communication;
  std::unordered_map<std::uint64_t, Lanes> lanes;
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    if (!is_gpu_work(ev.category[r])) continue;
    GpuTask task;
    task.row = r;
    task.start = ev.start[r] + model.host_offset;
    task.end = task.start + ev.duration[r];
    if (ev.correlation[r] > 0) task.call = call_of.find(ev.correlation[r]);
    const auto [it, fresh] = communication.try_emplace(ev.name[r], false);
    if (fresh) {
      it->second = is_communication_kernel(set.strings[ev.name[r]]);
    }
    task.communication = ev.category[r] == Category::kKernel && it->second;
    const std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(ev.device[r]))
                                  << 32 |
                              static_cast<std::uint32_t>(ev.stream[r]);
    task.stream = lanes[key].take(model, ev.device[r], ev.stream[r], task);
    const auto index = static_cast<std::uint32_t>(model.gpu.size());
    const std::vector<std::uint32_t>& ahead = model.streams[task.stream].tasks;
    task.order = static_cast<std::uint32_t>(ahead.size());
    task.before_window =
        task.call == kNoIndex && (ahead.empty() || model.gpu[ahead.back()].before_window);
    model.streams[task.stream].tasks.push_back(index);
    if (task.call != kNoIndex) model.calls[task.call].gpu.push_back(index);
    model.gpu.push_back(task);
  }
}

}  // namespace

RankModel make_rank_model(const TraceSet& set, std::uint32_t index, Time offset) {
  RankModel model;
  model.trace = &set.traces[index];
  model.index = index;
  model.rank = model.trace->rank.value_or(static_cast<std::int32_t>(index));
  model.host_offset = offset;
  cut_threads(set, model);
  index_calls(set, model);
  collect_gpu(set, model);
  return model;
}

Time order_slack(const Trace& trace) {
  return trace.clock_step >= Time::from_us(1) ? Time::from_us(1) : Time::from_ns(100);
}

Time put_at(const RankModel& rank, std::uint32_t task) {
  const GpuTask& t = rank.gpu[task];
  if (t.call != kNoIndex) return rank.calls[t.call].start;
  return t.before_window ? Time::min() : t.start;
}

bool launches_at_end(const RankModel& rank, const GpuTask& task) {
  const Call& call = rank.calls[task.call];
  return call.end - call.start > kLongCall && task.start >= call.end - kBeforeEnd;
}

bool starts_before_launch(const RankModel& rank, const GpuTask& task) {
  return task.start + order_slack(*rank.trace) < rank.calls[task.call].start;
}

void shift_gpu(RankModel& rank, Time by) {
  rank.gpu_offset += by;
  for (GpuTask& task : rank.gpu) {
    task.start += by;
    task.end += by;
  }
}

void shift_all(RankModel& rank, Time by) {
  rank.host_offset += by;
  for (HostThread& thread : rank.threads) {
    for (Piece& piece : thread.pieces) {
      piece.start += by;
      piece.end += by;
    }
  }
  for (Call& call : rank.calls) {
    call.start += by;
    call.end += by;
  }
  for (GpuTask& task : rank.gpu) {
    task.start += by;
    task.end += by;
  }
}

}  // namespace flopcast::replaying
