// Host costs from recordings: what calls last, and how long a thread is busy from one operator that launches
// something to the next.
#include <algorithm>
#include <unordered_map>

#include "base/numeric/median.h"
#include "base/numeric/quantile.h"
#include "flopcast/live/host.h"

namespace flopcast {
namespace {

/// A call that takes longer waits: for room in a stream's queue, for a copy, for the driver's memory.
constexpr Time kLongestCall = Time::from_us(100);
/// Of the stretches of a kind, the one that stands for them. A profiler lengthens every one, some by Python stacks and
/// shapes, and data loading or another thread's turn lengthens a few; the lower quarter has least of that.
constexpr double kTypical = 0.25;

std::optional<HostCost> cost_of_call(std::string_view name) {
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
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
      return has("Free") ? HostCost::kFree : HostCost::kSynchronize;
    case CallKind::kOther:
      break;
  }
  if (has("GraphLaunch")) return std::nullopt;  // as long as its graph is large
  if (has("Launch")) return HostCost::kLaunch;
  if (has("Memset")) return HostCost::kFill;
  if (has("Malloc")) return HostCost::kAllocate;
  if (has("EventQuery") || has("StreamQuery")) return HostCost::kQuery;
  return std::nullopt;
}

/// From one operator that launches something to the next in its thread.
struct Stretch {
  HostCost what = HostCost::kForwardOperator;
  Time time;                                     ///< its calls and waits left out
  Time calls;                                    ///< as recorded
  std::array<std::uint32_t, kHostCosts> made{};  ///< calls by what they cost
};

/// Nanoseconds of each cost as one recording has them, and its stretches.
struct Observed {
  std::array<std::vector<std::int64_t>, kHostCosts> calls;
  std::vector<Stretch> stretches;
};

/// One thread of a recording, row by row.
class HostReader {
 public:
  HostReader(const TraceSet& set, const Trace& trace, const std::vector<Step>& steps,
             Observed& observed)
      : set_(set), rows_(trace.events), steps_(steps), observed_(observed) {}

  void row(std::size_t row) {
    while (!open_.empty() && rows_.end(open_.back()) <= rows_.start[row]) open_.pop_back();
    if (is_host_call(rows_.category[row])) {
      call(row);
    } else if (rows_.category[row] == Category::kCpuOp) {
      open_.push_back(row);
    }
  }

 private:
  struct Unit {
    std::size_t row = kNone;  ///< operator, or a call outside of any
    Time start, waits;
    Stretch stretch;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::string_view name_of(std::size_t row) const { return set_.strings[rows_.name[row]]; }

  void call(std::size_t row) {
    const std::string_view name = name_of(row);
    const auto cost = cost_of_call(name);
    const Time lasts = rows_.duration[row];
    const bool waits = is_sync(call_kind(name)) || lasts > kLongestCall;
    if (cost && (!waits || *cost == HostCost::kAllocate))
      observed_.calls[static_cast<std::size_t>(*cost)].push_back(lasts.ps / 1000);
    if (is_submitting_call(name)) begin_unit(open_.empty() ? row : open_.back());
    if (current_.row == kNone) return;
    if (waits) {
      current_.waits += lasts;
    } else {
      current_.stretch.calls += lasts;
      if (cost) ++current_.stretch.made[static_cast<std::size_t>(*cost)];
    }
  }

  std::size_t step_at(Time time) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].start <= time && time < steps_[i].end) return i;
    }
    return kNone;
  }

  void begin_unit(std::size_t row) {
    if (row == current_.row) return;
    const Time start = rows_.start[row];
    if (current_.row != kNone && step_at(current_.start) != kNone &&
        step_at(current_.start) == step_at(start)) {
      Stretch& stretch = current_.stretch;
      stretch.time = start - current_.start - current_.waits - stretch.calls;
      if (stretch.time > Time{}) observed_.stretches.push_back(stretch);
    }
    current_ = {};
    current_.row = row;
    current_.start = start;
    current_.stretch.what = what_of_open();
  }

  HostCost what_of_open() const {
    for (const std::size_t row : open_) {
      const std::string_view name = name_of(row);
      if (name.starts_with("nccl:") || name.starts_with("c10d::") ||
          name.starts_with("record_param_comms"))
        return HostCost::kCollective;
    }
    for (const std::size_t row : open_) {
      if (name_of(row).starts_with("autograd::engine")) return HostCost::kBackwardOperator;
    }
    return HostCost::kForwardOperator;
  }

  const TraceSet& set_;
  const Events& rows_;
  const std::vector<Step>& steps_;
  Observed& observed_;
  std::vector<std::size_t> open_;  ///< operators that enclose what comes next
  Unit current_;
};

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
      observed.calls[static_cast<std::size_t>(HostCost::kLaunchLatency)].push_back(latency.ps /
                                                                                   1000);
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
    observed.calls[static_cast<std::size_t>(HostCost::kWake)].push_back(wake.ps / 1000);
  }
}

void observe(const TraceSet& set, Observed& observed) {
  for (const Trace& trace : set.traces) {
    const std::vector<Step> steps = find_steps(set, trace);
    std::unordered_map<std::uint32_t, HostReader> threads;
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      const Category category = trace.events.category[row];
      if (!is_host_call(category) && category != Category::kCpuOp) continue;
      threads.try_emplace(trace.events.track[row], set, trace, steps, observed)
          .first->second.row(row);
    }
    observe_gpu(set, trace, observed);
  }
}

bool is_operator(std::size_t cost) {
  const auto what = static_cast<HostCost>(cost);
  return what == HostCost::kForwardOperator || what == HostCost::kBackwardOperator ||
         what == HostCost::kCollective;
}

/// What a recording says of each cost, where it says something.
using Summary = std::array<std::optional<double>, kHostCosts>;

Summary summary_of(Observed& observed) {
  for (const Stretch& stretch : observed.stretches)
    observed.calls[static_cast<std::size_t>(stretch.what)].push_back(stretch.time.ps / 1000);
  Summary ns;
  for (std::size_t cost = 0; cost < kHostCosts; ++cost) {
    std::vector<std::int64_t>& seen = observed.calls[cost];
    if (seen.empty()) continue;
    if (!is_operator(cost)) {
      ns[cost] = static_cast<double>(upper_median(seen));
      continue;
    }
    std::vector<double> sorted(seen.begin(), seen.end());
    std::sort(sorted.begin(), sorted.end());
    ns[cost] = quantile(sorted, kTypical);
  }
  return ns;
}

/// Medians over the recordings but one.
HostTable table_of(const std::vector<Summary>& all, std::size_t but) {
  HostTable table = HostTable::builtin();
  for (std::size_t cost = 0; cost < kHostCosts; ++cost) {
    std::vector<double> seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != but && all[i][cost]) seen.push_back(*all[i][cost]);
    }
    if (!seen.empty()) table.ns[cost] = upper_median(seen);
  }
  return table;
}

HostError error_of(const HostRecording& recording, const Observed& observed, const Summary& own,
                   const HostTable& table) {
  HostError error;
  error.source = recording.source;
  double busy = 0;
  for (const Stretch& stretch : observed.stretches) {
    const auto what = static_cast<std::size_t>(stretch.what);
    ++error.operators;
    busy += (stretch.time + stretch.calls).seconds();
    error.measured_s += *own[what] * 1e-9 + stretch.calls.seconds();
    error.forecast_s += table.ns[what] * 1e-9;
    for (std::size_t cost = 0; cost < kHostCosts; ++cost)
      error.forecast_s += stretch.made[cost] * table.ns[cost] * 1e-9;
  }
  error.left_out = busy > 0 ? 1 - error.measured_s / busy : 0;
  return error;
}

}  // namespace

Result<HostFit> fit_host(std::span<const HostRecording> recordings) {
  std::vector<Observed> observed;
  std::vector<Summary> summaries;
  for (const HostRecording& recording : recordings) {
    observed.emplace_back();
    for (const TraceSet& run : recording.runs) observe(run, observed.back());
    summaries.push_back(summary_of(observed.back()));
  }
  const bool any = std::any_of(summaries.begin(), summaries.end(), [](const Summary& one) {
    return one[static_cast<std::size_t>(HostCost::kLaunch)].has_value();
  });
  if (!any) {
    const std::string where = recordings.empty() ? "recordings" : recordings[0].source;
    const char* const what = recordings.size() > 1
                                 ? "neither it nor the others have calls that launch kernels"
                                 : "has no calls that launch kernels";
    return Diagnostic{ErrorCode::kBadInput, where, what,
                      "record with ProfilerActivity.CPU and ProfilerActivity.CUDA"};
  }
  HostFit fit;
  fit.table = table_of(summaries, summaries.size());
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    fit.errors.push_back(
        error_of(recordings[i], observed[i], summaries[i], table_of(summaries, i)));
  }
  return fit;
}

}  // namespace flopcast
