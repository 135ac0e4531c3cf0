// Shards of one search, put together: the report of the whole search, byte for byte.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "flopcast/question/plan.h"
#include "question/plan/ranking.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

constexpr const char* kHint = "give every file of one search's --shard 0/N to N-1/N, each once";

Diagnostic unfit(std::string what) {
  return {ErrorCode::kBadInput, "shards", std::move(what), kHint};
}

std::optional<Diagnostic> shards_problem(std::span<const PlanReport> shards) {
  if (shards.empty()) return unfit("there are none");
  const std::string question = question_key(shards.front());
  std::vector<bool> seen(std::min<std::size_t>(shards.front().shards, shards.size()), false);
  for (const PlanReport& shard : shards) {
    if (question_key(shard) != question || shard.shards != shards.front().shards) {
      return unfit(fmt::format("they are of different searches: {} on {} and {} on {}",
                               shards.front().model, shards.front().cluster, shard.model,
                               shard.cluster));
    }
    if (shard.shard >= seen.size()) continue;  // then one below is missing
    if (seen[shard.shard]) {
      return unfit(fmt::format("shard {}/{} is there twice", shard.shard, shard.shards));
    }
    seen[shard.shard] = true;
  }
  const auto gap = std::find(seen.begin(), seen.end(), false);
  if (seen.size() < shards.front().shards || gap != seen.end()) {
    return unfit(fmt::format("shard {}/{} is missing", gap - seen.begin(), shards.front().shards));
  }
  return std::nullopt;
}

/// The estimate that a shard made of this plan.
const PlanCandidate* estimate_of(std::span<const PlanReport> shards, const PlanFound& found) {
  for (const PlanReport& shard : shards) {
    for (const PlanCandidate& candidate : shard.best) {
      if (candidate.found.number == found.number && candidate.found.placement == found.placement) {
        return &candidate;
      }
    }
  }
  return nullptr;
}

}  // namespace

Result<PlanReport> merge_plans(std::span<const PlanReport> shards) {
  if (const auto problem = shards_problem(shards)) return *problem;
  std::vector<const PlanReport*> in_order(shards.size());
  for (const PlanReport& shard : shards) in_order[shard.shard] = &shard;
  std::vector<PlanSearch> searches;
  for (const PlanReport* shard : in_order) searches.push_back(shard->search);

  PlanReport whole = *in_order.front();  // with what it tells of launchers
  if (shards.size() == 1) return whole;
  whole.shard = 0;
  whole.shards = 1;
  whole.search = merge_searches(searches, whole.asked_best);
  whole.best.clear();
  for (const PlanFound& found : rankable(whole.search)) {
    const PlanCandidate* candidate = estimate_of(shards, found);
    if (candidate == nullptr) return unfit("a plan of the best has no estimate in any of them");
    whole.best.push_back(*candidate);
  }
  for (const PlanReport& shard : shards) {
    if (!shard.rounder) continue;
    if (!whole.rounder || shard.rounder->time < whole.rounder->time) whole.rounder = shard.rounder;
  }
  rank(whole.best);
  tell_first(whole);
  return whole;
}

Result<std::vector<PlanReport>> merge_all_plans(std::span<const PlanReport> shards) {
  std::vector<std::vector<PlanReport>> searches;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const PlanReport& shard : shards) {
    const std::size_t number = numbers.emplace(question_key(shard), searches.size()).first->second;
    if (number == searches.size()) searches.emplace_back();
    searches[number].push_back(shard);
  }
  std::vector<PlanReport> merged;
  for (const std::vector<PlanReport>& search : searches) {
    Result<PlanReport> whole = merge_plans(search);
    if (!whole) return whole.error();
    merged.push_back(std::move(*whole));
  }
  if (merged.empty()) return unfit("there are none");
  return merged;
}

}  // namespace flopcast
