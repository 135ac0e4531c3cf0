#include "serving/schedule/rules.h"

#include <algorithm>

namespace flopcast::serving {

void plan(Rank& rank, Lane& lane) {
  switch (rank.terms->settings.engine) {
    case ServingEngine::kVllm:
      return plan_vllm(rank, lane);
    case ServingEngine::kSglang:
      return plan_sglang(rank, lane);
    case ServingEngine::kTensorRtLlm:
      return plan_trtllm(rank, lane);
  }
}

void plans_alike(Rank& rank, std::int64_t count) {
  const RankTerms& terms = *rank.terms;
  rank.new_token_ratio =
      std::max(rank.new_token_ratio - count * terms.ratio_decay, terms.ratio_least);
  if (rank.waits) rank.held_back += count;
  if (!terms.settings.balance_ranks || terms.ranks == 1 || rank.index > 0) return;
  const std::int64_t timeout = std::max<std::int64_t>(terms.settings.balance_timeout_iterations, 1);
  rank.balance_waits = rank.all_generate ? (rank.balance_waits + count) % timeout : 0;
}

}  // namespace flopcast::serving
