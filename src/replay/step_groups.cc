#include "replay/step_groups.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "replay/transplant.h"

namespace flopcast::replaying {
namespace {

/// Counts, per kind, edges of one step and those that the other step has as well.
class TransferCount {
 public:
  void add(const StepEdges& carried, const StepEdges& own) {
    std::set<std::tuple<std::uint32_t, std::uint32_t>> gpu;
    std::set<std::tuple<std::uint32_t, std::uint32_t>> sync;
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> threads;
    for (const GpuEdge& e : own.gpu) gpu.insert({e.source, e.target});
    for (const SyncWait& w : own.waits) {
      for (const std::uint32_t s : w.streams) sync.insert({w.call, s});
      for (const std::uint32_t t : w.tasks) sync.insert({w.call, t | kFixedSource});
    }
    for (const ThreadEdge& e : own.threads)
      threads.insert({e.from_thread, e.from_piece, e.to_thread, e.to_piece});
    for (const GpuEdge& e : carried.gpu) count(e.kind, gpu.contains({e.source, e.target}));
    for (const SyncWait& w : carried.waits) {
      for (const std::uint32_t s : w.streams) count(EdgeKind::kSync, sync.contains({w.call, s}));
      for (const std::uint32_t t : w.tasks)
        count(EdgeKind::kSync, sync.contains({w.call, t | kFixedSource}));
    }
    for (const ThreadEdge& e : carried.threads) {
      count(EdgeKind::kThread,
            threads.contains({e.from_thread, e.from_piece, e.to_thread, e.to_piece}));
    }
  }
  std::vector<StepMatch::Transfer> list() const {
    std::vector<StepMatch::Transfer> out;
    for (int k = 0; k < kEdgeKindCount; ++k) {
      if (edges_[k] > 0) out.push_back({static_cast<EdgeKind>(k), edges_[k], kept_[k]});
    }
    return out;
  }

 private:
  void count(EdgeKind kind, bool kept) {
    ++edges_[static_cast<int>(kind)];
    if (kept) ++kept_[static_cast<int>(kind)];
  }
  std::uint64_t edges_[kEdgeKindCount] = {};
  std::uint64_t kept_[kEdgeKindCount] = {};
};

double matched_share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// One step on every rank.
using StepOnRanks = std::vector<StepSpan>;

/// Those that all ranks have, in the first rank's order. A name that comes again counts once.
std::vector<StepOnRanks> steps_on_all_ranks(const TraceSet& set, const Recording& recording) {
  std::vector<StepOnRanks> steps;
  if (recording.ranks.empty()) return steps;
  std::unordered_map<std::string, std::size_t> place;
  for (StepSpan& span : step_spans(set, recording.ranks.front())) {
    if (place.try_emplace(span.name, steps.size()).second) steps.push_back({std::move(span)});
  }
  for (std::size_t r = 1; r < recording.ranks.size(); ++r) {
    for (StepSpan& span : step_spans(set, recording.ranks[r])) {
      const auto known = place.find(span.name);
      if (known != place.end() && steps[known->second].size() == r)
        steps[known->second].push_back(std::move(span));
    }
  }
  std::erase_if(steps, [&](const StepOnRanks& s) { return s.size() != recording.ranks.size(); });
  return steps;
}

/// Names of the calls of a step on one rank and how many GPU tasks each launched, thread by thread.
std::vector<std::uint32_t> calls_of(const RankModel& rank, const StepSpan& step) {
  std::vector<std::uint32_t> all;
  for (const HostThread& thread : rank.threads) {
    const std::vector<std::uint32_t> calls = calls_inside(rank, thread, step);
    all.push_back(static_cast<std::uint32_t>(calls.size()));
    for (const std::uint32_t c : calls) {
      all.push_back(rank.trace->events.name[rank.calls[c].row]);
      all.push_back(static_cast<std::uint32_t>(rank.calls[c].gpu.size()));
    }
  }
  return all;
}

bool same_calls(const Recording& recording, const StepOnRanks& a, const StepOnRanks& b) {
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
    if (calls_of(recording.ranks[r], a[r]) != calls_of(recording.ranks[r], b[r])) return false;
  }
  return true;
}

std::size_t hash_of_calls(const Recording& recording, const StepOnRanks& step) {
  std::size_t hash = 0;
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
    for (const std::uint32_t n : calls_of(recording.ranks[r], step[r]))
      hash = hash * 1000003 + std::hash<std::uint32_t>()(n) + 1;
  }
  return hash;
}

/// Groups of indices into `steps`: each step is read once, and once more against its group's first.
std::vector<std::vector<std::size_t>> group_by_calls(const Recording& recording,
                                                     const std::vector<StepOnRanks>& steps) {
  std::vector<std::vector<std::size_t>> groups;
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_hash;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::vector<std::size_t>& alike = by_hash[hash_of_calls(recording, steps[s])];
    const auto group = std::find_if(alike.begin(), alike.end(), [&](std::size_t g) {
      return same_calls(recording, steps[groups[g].front()], steps[s]);
    });
    if (group != alike.end()) {
      groups[*group].push_back(s);
    } else {
      alike.push_back(groups.size());
      groups.push_back({s});
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return groups;
}

StepMatch match(const Recording& recording, const StepOnRanks& from, const StepOnRanks& to) {
  StepMatch out{from.front().name, to.front().name, 1, 1, {}};
  TransferCount transfer;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    const StepMapping mapping = map_step(rank, from[r], to[r]);
    out.matched_from =
        std::min(out.matched_from, matched_share(mapping.matched, mapping.calls_from));
    out.matched_to = std::min(out.matched_to, matched_share(mapping.matched, mapping.calls_to));
    transfer.add(carry_over(rank, edges_inside(recording, r, from[r]), mapping),
                 edges_inside(recording, r, to[r]));
  }
  out.transfer = transfer.list();
  return out;
}

/// The first step of each group, largest group first; then the second of each: how alike steps of
/// one group are. In order of time.
std::vector<std::size_t> steps_to_compare(const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<std::size_t> chosen;
  for (const std::size_t member : {std::size_t{0}, std::size_t{1}}) {
    for (const auto& group : groups) {
      if (group.size() > member && chosen.size() < StepComparison::kMostCompared)
        chosen.push_back(group[member]);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

StepComparison group_steps(const TraceSet& set, const Recording& recording) {
  StepComparison out;
  const std::vector<StepOnRanks> steps = steps_on_all_ranks(set, recording);
  const auto groups = group_by_calls(recording, steps);
  for (const auto& group : groups) {
    std::vector<std::string>& names = out.groups.emplace_back();
    for (const std::size_t s : group) names.push_back(steps[s].front().name);
  }
  const std::vector<std::size_t> compared = steps_to_compare(groups);
  for (const std::size_t from : compared) {
    for (const std::size_t to : compared) {
      if (from != to) out.pairs.push_back(match(recording, steps[from], steps[to]));
    }
  }
  return out;
}

}  // namespace flopcast::replaying
