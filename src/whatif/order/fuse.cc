#include "whatif/order/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/numeric/clock.h"
#include "whatif/change/pattern.h"
#include "whatif/change/stretch.h"
#include "whatif/change/task_operators.h"
#include "whatif/durations/host_slots.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// GPU tasks of one rank that become one, in stream order.
using Chain = std::vector<std::uint32_t>;

/// What a kernel moves, as its operator's inputs tell: it reads them all, and writes as much as the
/// largest.
struct Traffic {
  double read = 0, written = 0;
};

/// Finds runs on one rank, and what they take as one kernel.
class Fuser {
 public:
  Fuser(const ChangedRun& run, std::uint32_t r, const std::set<std::uint32_t>& names)
      : run_(run),
        r_(r),
        rank_(run.recording->ranks[r]),
        operators_(*run.set, rank_),
        names_(names) {
    for (const GpuEdge& e : run.recording->cross_stream[r].edges) waits_.insert(e.target);
    for (std::uint32_t t = 0; t < rank_.gpu.size(); ++t) {
      if (gpu_class(rank_, rank_.gpu[t]) == GpuClass::kCompute) least_ = std::min(least_, time(t));
    }
    for (const StepTasks& step : (*run.steps)[r]) {
      ++steps_;
      for (const std::uint32_t t : step.gpu) step_of_.emplace(t, steps_);
    }
  }

  std::vector<Chain> find() const {
    std::vector<Chain> runs;
    for (const Stream& stream : rank_.streams) {
      Chain open;
      for (const std::uint32_t t : stream.tasks) {
        const bool matches = is_meant(t);
        // What waits for another stream cannot be part of what began before that.
        if (!open.empty() && (!matches || waits_.contains(t) || !together(open.back(), t))) {
          if (open.size() > 1) runs.push_back(open);
          open.clear();
        }
        if (matches) open.push_back(t);
      }
      if (open.size() > 1) runs.push_back(std::move(open));
    }
    return runs;
  }

  /// What a run takes as one kernel. What each kernel takes at the least is paid once; the rest goes
  /// by bytes, if all shapes are known. @return seconds
  double fused(const Chain& run, bool& by_bytes) const {
    double work = 0, moved = 0, kept = 0, before = 0;
    by_bytes = true;
    for (std::size_t i = 0; i < run.size(); ++i) {
      work += (time(run[i]) - least_).seconds();
      const std::optional<Traffic> traffic = traffic_of(run[i]);
      if (!traffic) {
        by_bytes = false;
        continue;
      }
      moved += traffic->read + traffic->written;
      // What one writes, the next has at hand.
      kept += traffic->read + traffic->written;
      if (i + 1 < run.size()) kept -= traffic->written;
      if (i > 0) kept -= std::min(traffic->read, before);
      before = traffic->written;
    }
    by_bytes = by_bytes && moved > 0;
    return least_.seconds() + work * (by_bytes ? std::max(0.0, kept / moved) : 1);
  }

 private:
  Time time(std::uint32_t t) const { return gpu_time(run_.durations.ranks[r_], t); }

  bool is_meant(std::uint32_t t) const {
    const GpuTask& task = rank_.gpu[t];
    return gpu_class(rank_, task) == GpuClass::kCompute && task.call != kNoIndex &&
           rank_.calls[task.call].gpu.size() == 1 &&
           names_.contains(rank_.trace->events.name[task.row]);
  }

  bool together(std::uint32_t a, std::uint32_t b) const {
    const auto step = [&](std::uint32_t t) {
      const auto found = step_of_.find(t);
      return found == step_of_.end() ? 0U : found->second;
    };
    return rank_.calls[rank_.gpu[a].call].thread == rank_.calls[rank_.gpu[b].call].thread &&
           step(a) == step(b);
  }

  std::optional<Traffic> traffic_of(std::uint32_t t) const {
    Traffic traffic;
    for (const OperatorInput& input : operators_.kernel(t).inputs) {
      if (input.size.empty()) continue;
      double bytes = input.element_bytes;
      for (const std::int64_t size : input.size) bytes *= static_cast<double>(size);
      if (bytes <= 0) return std::nullopt;
      traffic.read += bytes;
      traffic.written = std::max(traffic.written, bytes);
    }
    return traffic.read > 0 ? std::optional(traffic) : std::nullopt;
  }

  const ChangedRun& run_;
  std::uint32_t r_;
  const RankModel& rank_;
  TaskOperators operators_;
  const std::set<std::uint32_t>& names_;
  std::set<std::uint32_t> waits_;                   // for other streams
  std::map<std::uint32_t, std::uint32_t> step_of_;  // of GPU tasks, from 1
  std::uint32_t steps_ = 0;
  Time least_ = Time::max();
};

/// Operators that launch nothing but kernels that are gone, and these launches.
class Launches {
 public:
  Launches(ChangedRun& run, std::uint32_t r)
      : rank_(run.recording->ranks[r]), gone_(rank_.calls.size(), false) {
    for (std::uint32_t t = 0; t < rank_.threads.size(); ++t)
      slots_.emplace_back(*run.recording, r, t, run.durations.ranks[r]);
  }

  void take(const std::vector<Chain>& runs) {
    for (const Chain& run : runs) {
      for (std::size_t i = 1; i < run.size(); ++i) gone_[rank_.gpu[run[i]].call] = true;
    }
    std::map<std::uint32_t, bool> operators;  // whether all they launch is gone
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      const Call& call = rank_.calls[c];
      if (call.gpu.empty() || call.op == kNoIndex) continue;
      const auto [known, fresh] = operators.try_emplace(call.op, true);
      known->second = known->second && gone_[c];
    }
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      if (gone_[c])
        slots_[rank_.calls[c].thread].take_between(rank_.calls[c].start, rank_.calls[c].end);
    }
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      const Call& call = rank_.calls[c];
      if (!gone_[c] || call.op == kNoIndex || !operators[call.op]) continue;
      const Time start = rank_.trace->events.start[call.op] + rank_.host_offset;
      slots_[call.thread].take_between(start, start + rank_.trace->events.duration[call.op]);
    }
  }

 private:
  const RankModel& rank_;
  std::vector<bool> gone_;
  std::vector<HostSlots> slots_;
};

/// Names of kernels that match.
std::set<std::uint32_t> matching(const ChangedRun& run, const Pattern& pattern) {
  std::map<std::uint32_t, bool> known;
  std::set<std::uint32_t> names;
  for (const RankModel& rank : run.recording->ranks) {
    for (const GpuTask& task : rank.gpu) {
      const std::uint32_t name = rank.trace->events.name[task.row];
      if (!known.try_emplace(name, true).second) continue;
      if (pattern.found_in(run.set->strings[name])) names.insert(name);
    }
  }
  return names;
}

}  // namespace

std::optional<Diagnostic> add_fusion(ChangedRun& run, const Change& change, const Fuse& asked) {
  const std::set<std::uint32_t> names = matching(run, asked.names);
  std::uint64_t kernels = 0, fused = 0, by_bytes = 0;
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r) {
    const RankModel& rank = run.recording->ranks[r];
    const Fuser fuser(run, r, names);
    const std::vector<Chain> runs = fuser.find();
    Durations::Rank& durations = run.durations.ranks[r];
    for (const Chain& one : runs) {
      bool bytes = false;
      double time = fuser.fused(one, bytes);
      for (std::size_t i = 1; i < one.size(); ++i) {
        // The stream still passes from one to the next of them: that has to come off somewhere.
        const Time recorded = rank.gpu[one[i]].start - rank.gpu[one[i - 1]].end;
        const Time typical =
            run.lags->ranks[r].after(EdgeKind::kStream, GpuClass::kCompute, GpuClass::kCompute);
        time -= std::max(Time{}, std::min(recorded, typical)).seconds();
      }
      for (const std::uint32_t t : one) set_gpu_time(durations, rank.gpu[t], t, Time{});
      set_gpu_time(durations, rank.gpu[one.front()], one.front(), on_clock({std::max(0.0, time)}));
      kernels += one.size();
      ++fused;
      by_bytes += bytes;
    }
    Launches(run, r).take(runs);
  }
  if (fused == 0) {
    run.refused.push_back(
        refusal(change, fmt::format("no two neighbours on a stream, launched one by one, match {}",
                                    asked.names.written())));
    return std::nullopt;
  }
  WhatIfNote note;
  note.what = fmt::format("{} kernels become {}, {} of them by the bytes that are left to move",
                          kernels, fused, by_bytes);
  note.how = "modelled";
  note.tasks = kernels;
  run.notes.push_back(std::move(note));
  return std::nullopt;
}

}  // namespace flopcast::whatif
