#include "whatif/durations/kernels_from.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/numeric/median.h"
#include "base/numeric/sequence_match.h"
#include "whatif/change/stretch.h"
#include "whatif/change/task_operators.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Longer stretches without a common kernel are another program, no replacement.
constexpr std::size_t kMostReplaced = 32;
/// How far two recordings of one program lie apart in everything (decode_kernels_8xh200: 0.12 %).
constexpr double kFromRunToRun = 0.002;
/// Neighbours on a stream with a longer gap were launched apart.
constexpr Time kBackToBack = Time::from_us(5);

/// A kernel by what it is, in the words of both recordings.
using Word = std::tuple<std::string_view, std::uint64_t, std::uint64_t>;

Word word_of(const TraceSet& set, const RankModel& rank, std::uint32_t task) {
  const auto [name, blocks, threads] = launch_shape_of(*rank.trace, rank.gpu[task].row);
  return {set.strings[name], blocks, threads};
}

bool is_communication(const GpuTask& task) {
  return task.communication || task.collective != kNoIndex;
}

/// What the other recording says of kernels that have no place in it.
class Elsewhere {
 public:
  Elsewhere(const TraceSet& set, const Recording& recording) {
    for (const RankModel& rank : recording.ranks) {
      for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
        if (is_communication(rank.gpu[t])) continue;
        times_[word_of(set, rank, t)].push_back(rank.gpu[t].end - rank.gpu[t].start);
      }
    }
    for (auto& [word, times] : times_) median_[word] = upper_median(times);
  }
  std::optional<Time> median(const Word& word) const {
    const auto known = median_.find(word);
    return known == median_.end() ? std::nullopt : std::optional(known->second);
  }

 private:
  std::map<Word, std::vector<Time>> times_;
  std::map<Word, Time> median_;
};

/// The gap between kernels that follow each other at once: what one more kernel costs beside its
/// own time.
Time typical_gap(const Recording& recording) {
  std::vector<Time> gaps;
  for (const RankModel& rank : recording.ranks) {
    for (const Stream& stream : rank.streams) {
      for (std::size_t i = 1; i < stream.tasks.size(); ++i) {
        const Time gap = rank.gpu[stream.tasks[i]].start - rank.gpu[stream.tasks[i - 1]].end;
        if (gap <= kBackToBack) gaps.push_back(std::max(gap, Time{}));
      }
    }
  }
  return upper_median(gaps);
}

struct Tally {
  std::uint64_t tasks = 0;
  Time before, after;
  void add(Time from, Time to) {
    ++tasks;
    before += from;
    after += to;
  }
};

class Taking {
 public:
  Taking(ChangedRun& run, const TraceSet& set, const Recording& recording)
      : run_(run),
        set_(set),
        rec_(recording),
        elsewhere_(set, recording),
        gap_(typical_gap(recording)) {}

  void rank(std::uint32_t r) {
    const RankModel& here = run_.recording->ranks[r];
    const RankModel& there = partner(here, r);
    std::vector<bool> taken(there.streams.size());
    for (const Stream& stream : here.streams) {
      this->stream(r, here, stream.tasks, there, tasks_of(there, stream, taken));
    }
  }

  /// @param from what the other recording is called
  void tell(const std::string& from) {
    Time all;
    for (const Tally* tally : {&partners_, &replaced_, &equals_, &kept_, &communication_})
      all += tally->after;
    const auto note = [&](const Tally& tally, std::string what, const char* how) {
      if (tally.tasks == 0) return;
      const double share = all == Time{} ? 0 : tally.after.seconds() / all.seconds();
      run_.notes.push_back({std::move(what), how, tally.tasks, share});
    };
    note(partners_, "kernels that " + from + " has at the same place", "copied");
    note(replaced_, replaced_text(), "copied");
    note(equals_, "kernels without a place there: the median of equal ones", "copied");
    note(kept_, "kernels without an equal there: as recorded" + example(kept_name_), "assumed");
    note(communication_, "communication, which holds waiting: as recorded", "copied");
    if (left_out_.tasks > 0) {
      run_.notes.push_back({fmt::format("kernels there without a place here, {:.3f} ms: left out{}",
                                        left_out_.before.seconds() * 1e3, example(left_out_name_)),
                            "assumed", left_out_.tasks, 0});
    }
  }
  std::uint64_t found() const { return partners_.tasks + equals_.tasks; }

  void doubt(const std::string& from) {
    doubt_repeats(from);
    doubt_unmatched(from);
  }

 private:
  /// Two runs of one program differ; communication, which was not taken, by what it differs between
  /// the two recordings.
  void doubt_repeats(const std::string& from) {
    Time there;
    const Durations durations = recorded_durations(rec_);
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      for (std::uint32_t t = 0; t < rec_.ranks[r].gpu.size(); ++t) {
        if (is_communication(rec_.ranks[r].gpu[t])) there += gpu_time(durations.ranks[r], t);
      }
    }
    // Other ranks were recorded, or other steps: no telling.
    const double ratio =
        communication_.before == Time{} ? 1 : there.seconds() / communication_.before.seconds();
    const bool comparable = ratio > 0.5 && ratio < 2;
    const double apart = (comparable ? std::abs(ratio - 1) : 0) + kFromRunToRun;
    Doubt doubt{"from run to run, and communication against that of " + from, run_.durations,
                run_.durations};
    for (std::uint32_t r = 0; r < run_.recording->ranks.size(); ++r) {
      const RankModel& rank = run_.recording->ranks[r];
      for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
        const double share = is_communication(rank.gpu[t]) ? apart : kFromRunToRun;
        const Time time = gpu_time(run_.durations.ranks[r], t);
        set_gpu_time(doubt.low.ranks[r], rank.gpu[t], t, stretched(time, 1 - share));
        set_gpu_time(doubt.high.ranks[r], rank.gpu[t], t, stretched(time, 1 + share));
      }
    }
    run_.doubts.push_back(std::move(doubt));
  }

  /// What has no equal may be gone there, and what has no place here is work that is missing.
  void doubt_unmatched(const std::string& from) {
    if (kept_.tasks == 0 && left_out_.tasks == 0) return;
    Doubt doubt{"kernels without an equal in " + from, run_.durations, run_.durations};
    for (const auto& [r, t] : kept_tasks_) {
      const GpuTask& task = run_.recording->ranks[r].gpu[t];
      set_gpu_time(doubt.low.ranks[r], task, t, Time{});
    }
    for (const auto& [r, t, time] : missing_) {
      const GpuTask& task = run_.recording->ranks[r].gpu[t];
      set_gpu_time(doubt.high.ranks[r], task, t, gpu_time(doubt.high.ranks[r], t) + time);
    }
    run_.doubts.push_back(std::move(doubt));
  }

  /// The same rank there; where ranks are others, each has one in turn.
  const RankModel& partner(const RankModel& here, std::uint32_t r) const {
    for (const RankModel& there : rec_.ranks) {
      if (there.rank == here.rank) return there;
    }
    return rec_.ranks[r % rec_.ranks.size()];
  }

  /// The stream of the same number; else the fullest that has no partner yet.
  static std::vector<std::uint32_t> tasks_of(const RankModel& there, const Stream& stream,
                                             std::vector<bool>& taken) {
    std::size_t best = there.streams.size();
    for (std::size_t s = 0; s < there.streams.size(); ++s) {
      if (taken[s] || there.streams[s].lane != stream.lane) continue;
      if (there.streams[s].id == stream.id) {
        best = s;
        break;
      }
      if (best == there.streams.size() ||
          there.streams[s].tasks.size() > there.streams[best].tasks.size())
        best = s;
    }
    if (best == there.streams.size()) return {};
    taken[best] = true;
    return there.streams[best].tasks;
  }

  void stream(std::uint32_t r, const RankModel& here, const std::vector<std::uint32_t>& ours,
              const RankModel& there, const std::vector<std::uint32_t>& theirs) {
    const auto pairs = match_sequences(ids(*run_.set, here, ours), ids(set_, there, theirs));
    std::size_t i = 0, j = 0;
    for (const auto& [a, b] : pairs) {
      between(r, here, ours, i, a, there, theirs, j, b);
      take(r, ours[a], there.gpu[theirs[b]].end - there.gpu[theirs[b]].start, partners_);
      i = a + 1;
      j = b + 1;
    }
    between(r, here, ours, i, ours.size(), there, theirs, j, theirs.size());
  }

  std::vector<std::uint32_t> ids(const TraceSet& set, const RankModel& rank,
                                 const std::vector<std::uint32_t>& tasks) {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t task : tasks) {
      out.push_back(
          ids_.try_emplace(word_of(set, rank, task), static_cast<std::uint32_t>(ids_.size()))
              .first->second);
    }
    return out;
  }

  /// The kernels between two that have partners: [i, a) here, [j, b) there.
  void between(std::uint32_t r, const RankModel& here, const std::vector<std::uint32_t>& ours,
               std::size_t i, std::size_t a, const RankModel& there,
               const std::vector<std::uint32_t>& theirs, std::size_t j, std::size_t b) {
    std::vector<std::uint32_t> old_tasks, new_tasks;
    Time old_time, new_time;
    for (; i < a; ++i) {
      if (is_communication(here.gpu[ours[i]])) {
        take(r, ours[i], {}, communication_);
        continue;
      }
      old_tasks.push_back(ours[i]);
      old_time += gpu_time(run_.durations.ranks[r], ours[i]);
    }
    for (; j < b; ++j) {
      if (is_communication(there.gpu[theirs[j]])) continue;
      new_tasks.push_back(theirs[j]);
      new_time += there.gpu[theirs[j]].end - there.gpu[theirs[j]].start;
    }
    if (old_tasks.empty() || new_tasks.empty() || old_tasks.size() > kMostReplaced ||
        new_tasks.size() > kMostReplaced) {
      apart(r, here, old_tasks, there, new_tasks, ours, i);
      return;
    }
    const auto more =
        static_cast<std::int64_t>(new_tasks.size()) - static_cast<std::int64_t>(old_tasks.size());
    const Time together = std::max(new_time + Time{more * gap_.ps}, Time{});
    const double k = old_time == Time{} ? 0 : together.seconds() / old_time.seconds();
    for (const std::uint32_t task : old_tasks) {
      const Time before = gpu_time(run_.durations.ranks[r], task);
      take(r, task, old_time == Time{} ? Time{} : stretched(before, k), replaced_);
    }
    if (replaced_name_.empty()) {
      replaced_name_ = name_of(*run_.set, here, old_tasks.front());
      replacing_name_ = name_of(set_, there, new_tasks.front());
    }
  }

  /// Kernels that have nothing at their place on the other side.
  void apart(std::uint32_t r, const RankModel& here, const std::vector<std::uint32_t>& old_tasks,
             const RankModel& there, const std::vector<std::uint32_t>& new_tasks,
             const std::vector<std::uint32_t>& ours, std::size_t next) {
    for (const std::uint32_t task : old_tasks) {
      const auto equal = elsewhere_.median(word_of(*run_.set, here, task));
      const Time before = gpu_time(run_.durations.ranks[r], task);
      take(r, task, equal.value_or(before), equal ? equals_ : kept_);
      if (equal) continue;
      kept_tasks_.emplace_back(r, task);
      if (kept_name_.empty()) kept_name_ = name_of(*run_.set, here, task);
    }
    Time missing;
    for (const std::uint32_t task : new_tasks) {
      const Time time = there.gpu[task].end - there.gpu[task].start;
      left_out_.add(time, Time{});
      missing += time;
      if (left_out_name_.empty()) left_out_name_ = name_of(set_, there, task);
    }
    if (missing > Time{} && !ours.empty())
      missing_.emplace_back(r, ours[std::min(next, ours.size() - 1)], missing);
  }

  void take(std::uint32_t r, std::uint32_t t, Time time, Tally& tally) {
    const GpuTask& task = run_.recording->ranks[r].gpu[t];
    const Time before = gpu_time(run_.durations.ranks[r], t);
    if (is_communication(task)) {
      communication_.add(before, before);
      return;
    }
    tally.add(before, time);
    set_gpu_time(run_.durations.ranks[r], task, t, time);
  }

  static std::string name_of(const TraceSet& set, const RankModel& rank, std::uint32_t task) {
    constexpr std::size_t kShown = 60;
    std::string name(set.strings[rank.trace->events.name[rank.gpu[task].row]]);
    return name.size() <= kShown ? name : name.substr(0, kShown) + "...";
  }
  static std::string example(const std::string& name) {
    return name.empty() ? "" : " (such as " + name + ")";
  }
  std::string replaced_text() const {
    return fmt::format("kernels that were replaced, {:.3f} -> {:.3f} ms (such as {} by {})",
                       replaced_.before.seconds() * 1e3, replaced_.after.seconds() * 1e3,
                       replaced_name_, replacing_name_);
  }

  ChangedRun& run_;
  const TraceSet& set_;
  const Recording& rec_;
  Elsewhere elsewhere_;
  Time gap_;
  std::map<Word, std::uint32_t> ids_;
  Tally partners_, replaced_, equals_, kept_, communication_, left_out_;
  std::string replaced_name_, replacing_name_, kept_name_, left_out_name_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> kept_tasks_;
  std::vector<std::tuple<std::uint32_t, std::uint32_t, Time>> missing_;
};

}  // namespace

void take_kernels_from(ChangedRun& run, const Change& change, const KernelsFrom& from,
                       const TraceSet& other, const Recording& others) {
  const std::string name = from.recording.string();
  if (others.ranks.empty()) {
    run.refused.push_back(refusal(change, name + " holds no rank with work on a GPU"));
    return;
  }
  Taking taking(run, other, others);
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r) taking.rank(r);
  if (taking.found() == 0) {
    run.refused.push_back(
        refusal(change, name + " has no kernel of this recording (by name, blocks and threads)"));
    return;
  }
  taking.tell(name);
  taking.doubt(name);
  for (const RankModel& rank : others.ranks) {
    for (const Device& device : rank.trace->devices) run.device = device.name;
  }
}

std::optional<Diagnostic> take_kernels_from(ChangedRun& run, const Change& change,
                                            const KernelsFrom& from) {
  const Result<TraceSet> other = read_traces({from.recording});
  if (!other) return other.error();
  Replay notes;
  const Recording others = find_dependencies(*other, 0, notes);
  take_kernels_from(run, change, from, *other, others);
  return std::nullopt;
}

}  // namespace flopcast::whatif
