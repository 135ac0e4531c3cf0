// The rules of vLLM V1, as of 0.19: vllm/v1/core/sched/scheduler.py (schedule, _preempt_request) and
// vllm/v1/core/kv_cache_manager.py (get_computed_blocks, allocate_slots).
//
// - One budget of tokens, max_num_batched_tokens. What runs goes first, in order of admission; then the queue, first
//   come, first served, while budget, max_num_seqs and blocks last. The last prompt is cut to fill the budget.
// - A request is begun only if blocks for all its known tokens are free, though it takes those of its first piece alone
//   (scheduler_reserve_full_isl, on in 0.19).
// - Blocks are taken as they are needed. Where none is left the last of the running is preempted: all its blocks are free
//   at once, and it waits at the head of the queue to be computed again. Nobody is admitted in that iteration.
// - Of a known prefix whole blocks are taken again, never the last token.
//
// One simplification: decodes have their tokens before the prompts that are already cut, wherever they stand in the
// list. It shows only with long_prefill_token_threshold, when several cut prompts fill the budget.
#include <algorithm>

#include "serving/schedule/rules.h"

namespace flopcast::serving {
namespace {

std::int64_t vllm_chunk(const Rank& rank, std::int64_t tokens, std::int64_t budget) {
  const std::int64_t threshold = rank.terms->settings.chunk_threshold;
  if (threshold > 0) tokens = std::min(tokens, threshold);
  return std::min(tokens, budget);
}

// Prompts that were cut before. False: somebody was preempted for them.
bool continue_prompts(Rank& rank, Lane& lane, std::int64_t& budget) {
  bool kept = true;
  for (std::size_t i = 0; i < lane.prefilling.size() && budget > 0;) {
    const Slot slot = lane.prefilling[i];
    const RequestState& request = rank.state(slot);
    const std::int64_t tokens = vllm_chunk(rank, request.tokens() - request.computed, budget);
    Slot victim = kNoSlot;
    while (rank.lacks(request, request.computed + tokens) > rank.pool.free() && victim != slot) {
      victim = lane.running.back();
      rank.preempt(lane, victim, true);
      kept = false;
    }
    if (victim == slot) break;
    rank.add_chunk(lane, slot, tokens);
    budget -= tokens;
    if (i < lane.prefilling.size() && lane.prefilling[i] == slot) ++i;
  }
  return kept;
}

// The head of the queue is begun. False: it cannot be.
bool admit_next(Rank& rank, Lane& lane, std::int64_t& budget) {
  const Slot slot = rank.waiting.front();
  const RequestState& request = rank.state(slot);
  const bool arrives_computed = Rank::comes_computed(request);
  const PrefixHit hit = rank.pool.lookup(request, rank.table->prefix(slot), request.tokens());
  const std::int64_t known = std::max(hit.blocks * rank.pool.block(), request.ready);
  std::int64_t tokens = request.tokens() - known;
  // Alone it may be above the budget: preempted, it has grown beyond what was admitted.
  const EngineSettings& settings = rank.terms->settings;
  const bool whole_prompts = !settings.chunked_prefill;
  if (whole_prompts && tokens > budget && budget < settings.batch_tokens) return false;
  tokens = arrives_computed ? rank.terms->decode_tokens
           : whole_prompts  ? tokens
                            : vllm_chunk(rank, tokens, budget);
  const std::int64_t whole =
      request.tokens() + (arrives_computed ? rank.terms->decodes.lookahead : 0);
  if (rank.pool.blocks_of(whole) - hit.blocks > rank.pool.free() - hit.idle) return false;
  rank.admit(lane, hit);
  if (arrives_computed) {
    rank.add_decode(lane, slot);
  } else {
    rank.add_chunk(lane, slot, tokens);
  }
  budget -= tokens;
  return true;
}

}  // namespace

void plan_vllm(Rank& rank, Lane& lane) {
  lane.chunks.clear();
  bool kept = rank.settle_decodes(lane);
  lane.decode = lane.decodes.size() > 0;
  std::int64_t budget =
      rank.terms->settings.batch_tokens - lane.decodes.size() * rank.terms->decode_tokens;
  if (!lane.prefilling.empty() && !continue_prompts(rank, lane, budget)) kept = false;
  rank.alike = kept ? kForEver : 0;
  rank.closed = false;
  if (!kept) return;
  bool refused = false;
  while (!refused && !rank.waiting.empty() && budget > 0 && rank.active < rank.terms->most_running)
    refused = !admit_next(rank, lane, budget);
  // Who was refused stays so, as decodes only take more blocks; unless some ended whose blocks and places are not yet
  // known to be free.
  rank.closed =
      rank.late.empty() && (refused || budget <= 0 || rank.active >= rank.terms->most_running);
  // It is asked again once what ended late has given its blocks back.
  if (!rank.late.empty() && !(rank.waiting.empty() && rank.arrivals.empty())) rank.alike = 0;
  if (!lane.chunks.empty()) rank.alike = 0;
}

}  // namespace flopcast::serving
