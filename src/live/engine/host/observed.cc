#include "live/engine/host/observed.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/numeric/median.h"

namespace flopcast::live {
namespace {

/// Longer calls, and longer stretches without an operator or a call, wait: for room in a stream's queue, for a copy, for
/// data, for another thread.
constexpr Time kLongest = Time::from_us(100);
/// An operator that does nothing but call another that does next to nothing (a transposition, a view), both together:
/// timed without a profiler on PyTorch 2.15. What a recording shows beyond that is the profiler.
constexpr Time kTwoSmallOperators = Time::from_ns(500);
/// A row of a Python function takes the profiler so long; the same.
constexpr Time kPythonRow = Time::from_ns(400);
/// Of a thread: fewer pairs of small operators say nothing.
constexpr std::size_t kFewPairs = 6;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

std::optional<HostCost> cost_of_call(std::string_view name) {
  switch (call_kind(name)) {
    case CallKind::kRecord:
      return HostCost::kRecordEvent;
    case CallKind::kWaitEvent:
      return HostCost::kWaitEvent;
    case CallKind::kCopy:
      return HostCost::kCopy;
    case CallKind::kDeviceSync:
    case CallKind::kStreamSync:
    case CallKind::kEventSync:
      return has(name, "Free") ? HostCost::kFree : HostCost::kSynchronize;
    case CallKind::kOther:
      break;
  }
  if (has(name, "GraphLaunch")) return std::nullopt;  // as long as its graph is large
  if (has(name, "Launch")) return HostCost::kLaunch;
  if (has(name, "Memset")) return HostCost::kFill;
  if (has(name, "Malloc")) return HostCost::kAllocate;
  if (has(name, "EventQuery") || has(name, "StreamQuery")) return HostCost::kQuery;
  return std::nullopt;
}

/// Pairs of an operator and the only one in it, which has none: what of the first is its own, and the second.
struct SmallPairs {
  std::vector<std::int64_t> outer_ps, inner_ps;

  bool few() const { return outer_ps.size() < kFewPairs; }
  void add(const SmallPairs& more) {
    outer_ps.insert(outer_ps.end(), more.outer_ps.begin(), more.outer_ps.end());
    inner_ps.insert(inner_ps.end(), more.inner_ps.begin(), more.inner_ps.end());
  }
  /// What each row takes the profiler.
  Time per_row() {
    if (few()) return Time();
    const Time both{upper_median(outer_ps) + upper_median(inner_ps)};
    return std::max(Time(), both - kTwoSmallOperators);
  }
};

/// One thread of a recording, row by row: stretches between the beginnings and ends of its operators and calls.
class HostThread {
 public:
  HostThread(const TraceSet& set, const Trace& trace, Observed& observed)
      : set_(set), rows_(trace.events), observed_(observed) {}

  void row(std::size_t row) {
    end_operators(rows_.start[row]);
    if (rows_.category[row] == Category::kPythonFunction) {
      ++python_rows_;
      return;
    }
    pass(rows_.start[row]);
    if (is_host_call(rows_.category[row])) {
      if (!open_.empty()) open_.back().busy = true;
      call(row);
      at_ = std::max(at_, rows_.end(row));
    } else {
      ++operators_;
      open_.push_back({row, 0, Time(), false});
    }
  }

  /// All rows have been read.
  void end() { end_operators(Time::max()); }
  SmallPairs& pairs() { return pairs_; }
  /// @param all pairs of the run, for a thread that has too few
  void give(SmallPairs& all) {
    if (!launches_) return;
    const Time per_row = (pairs_.few() ? all : pairs_).per_row();
    const Time profiler{std::min(host_.ps, per_row.ps * static_cast<std::int64_t>(operators_))};
    observed_.host_s += (host_ - profiler).seconds();
    observed_.profiler_s += (profiler + python_).seconds();
    observed_.made[static_cast<std::size_t>(HostCost::kOperator)] += operators_;
    observed_.calls_s += calls_.seconds();
    for (std::size_t cost = 0; cost < kHostCosts; ++cost) observed_.made[cost] += made_[cost];
  }

 private:
  struct Open {
    std::size_t row = 0;
    std::uint32_t operators = 0;  ///< directly in it
    Time inner;                   ///< the last of them, if that has nothing in it
    bool busy = false;            ///< there is more in it than that
  };

  std::string_view name_of(std::size_t row) const { return set_.strings[rows_.name[row]]; }

  void pass(Time to) {
    if (begun_ && to > at_) {
      const Time stretch = to - at_;
      const Time python{std::min(stretch.ps, kPythonRow.ps * python_rows_)};
      if (stretch <= kLongest) {
        host_ += stretch - python;
        python_ += python;
      }
    }
    if (!begun_ || to > at_) at_ = to;
    begun_ = true;
    python_rows_ = 0;
  }

  void end_operators(Time until) {
    while (!open_.empty() && rows_.end(open_.back().row) <= until) {
      const Open ended = open_.back();
      open_.pop_back();
      pass(rows_.end(ended.row));
      const Time lasted = rows_.duration[ended.row];
      if (ended.operators == 1 && !ended.busy && lasted <= kLongest) {
        pairs_.outer_ps.push_back((lasted - ended.inner).ps);
        pairs_.inner_ps.push_back(ended.inner.ps);
      }
      if (open_.empty()) continue;
      Open& around = open_.back();
      ++around.operators;
      around.inner = lasted;
      around.busy = around.busy || ended.operators > 0 || ended.busy;
    }
  }

  void call(std::size_t row) {
    const std::string_view name = name_of(row);
    const auto cost = cost_of_call(name);
    const Time lasts = rows_.duration[row];
    const bool waits = is_sync(call_kind(name)) || lasts > kLongest;
    if (cost && (!waits || *cost == HostCost::kAllocate))
      observed_.of(*cost).push_back(lasts.ps / 1000);
    if (waits || !cost) return;
    calls_ += lasts;
    ++made_[static_cast<std::size_t>(*cost)];
    if (*cost != HostCost::kLaunch) return;
    launches_ = true;
    if (open_.empty() || !name_of(open_.back().row).starts_with("aten::"))
      ++made_[static_cast<std::size_t>(HostCost::kOutside)];
  }

  const TraceSet& set_;
  const Events& rows_;
  Observed& observed_;
  std::vector<Open> open_;
  SmallPairs pairs_;
  bool begun_ = false, launches_ = false;
  Time at_;                       ///< all before belongs to a stretch or a call
  std::int64_t python_rows_ = 0;  ///< since then
  Time host_, python_, calls_;
  std::uint64_t operators_ = 0;
  std::array<std::uint64_t, kHostCosts> made_{};
};

void observe_host(const TraceSet& set, const Trace& trace, Observed& observed) {
  const Events& rows = trace.events;
  std::map<std::uint32_t, HostThread> threads;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Category category = rows.category[row];
    if (!is_host_call(category) && category != Category::kCpuOp &&
        category != Category::kPythonFunction)
      continue;
    threads.try_emplace(rows.track[row], set, trace, observed).first->second.row(row);
  }
  SmallPairs all;
  for (auto& [track, thread] : threads) {
    thread.end();
    all.add(thread.pairs());
  }
  for (auto& [track, thread] : threads) thread.give(all);
}

/// When the GPU began and ended what calls gave it.
void observe_gpu(const TraceSet& set, const Trace& trace, Observed& observed) {
  const Events& rows = trace.events;
  std::unordered_map<std::int64_t, std::size_t> calls;
  std::vector<std::pair<Time, Time>> work;  // end, start
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (is_host_call(rows.category[row]) && rows.correlation[row] != kNoId)
      calls[rows.correlation[row]] = row;
  }
  std::unordered_map<std::int32_t, Time> busy_until;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!is_gpu_work(rows.category[row])) continue;
    Time& busy = busy_until[rows.stream[row]];
    const auto call = calls.find(rows.correlation[row]);
    if (call != calls.end() && rows.start[call->second] > busy &&
        rows.start[row] > rows.start[call->second]) {
      const Time latency = rows.start[row] - rows.start[call->second];
      observed.of(HostCost::kLaunchLatency).push_back(latency.ps / 1000);
    }
    busy = std::max(busy, rows.end(row));
    work.emplace_back(rows.end(row), rows.start[row]);
  }
  std::sort(work.begin(), work.end());
  for (const auto& [correlation, row] : calls) {
    if (!is_sync(call_kind(set.strings[rows.name[row]]))) continue;
    const auto after =
        std::upper_bound(work.begin(), work.end(), std::pair(rows.end(row), Time::max()));
    if (after == work.begin() || std::prev(after)->first < rows.start[row]) continue;
    const Time wake = rows.end(row) - std::prev(after)->first;
    observed.of(HostCost::kWake).push_back(wake.ps / 1000);
  }
}

}  // namespace

Observed observe(const TraceSet& run) {
  Observed observed;
  for (const Trace& trace : run.traces) {
    observe_host(run, trace, observed);
    observe_gpu(run, trace, observed);
  }
  return observed;
}

}  // namespace flopcast::live
