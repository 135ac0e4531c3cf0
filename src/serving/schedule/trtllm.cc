// The rules of TensorRT-LLM's PyTorch backend, as of 1.2: tensorrt_llm/_torch/pyexecutor/py_executor.py
// (_prepare_and_schedule_batch, _waiting_requests, _balance_adp_requests) and scheduler.py (capacity and micro-batch
// schedulers; their C++ twins are cpp/tensorrt_llm/batch_manager/{capacity,microBatch}Scheduler.cpp).
//
// - Capacity. GUARANTEED_NO_EVICT: a request is begun if blocks for its prompt and whole answer remain beside what those
//   begun may still take. MAX_UTILIZATION: while blocks last; where they do not, the last begun is paused.
// - A batch has all decodes and, within max_num_tokens and max_batch_size, prompts, whole unless chunked context is on;
//   chunks end with a block.
// - Batch waiting: beside decodes, prompts are held back until the batch would have batch_wait_max_tokens_ratio of
//   max_num_tokens, or batch_wait_timeout_iters iterations have passed.
// - Attention ranks with balance hold prompts back until every rank has one, or timeout_iters iterations have passed; then
//   batching_wait_iters more to gather them.
#include <algorithm>

#include "serving/schedule/rules.h"

namespace flopcast::serving {
namespace {

// Whether the capacity scheduler lets it begin. @param promised blocks that others may still take
bool has_capacity(const Rank& rank, const RequestState& request, const PrefixHit& hit,
                  std::int64_t promised) {
  const std::int64_t free = rank.pool.free() - hit.idle;
  if (rank.terms->settings.capacity == CapacityPolicy::kNoEvict)
    return rank.whole_blocks(request) - hit.blocks <= free - promised;
  // The first step after the prompt has its block too, so that it does not stop at once.
  return rank.pool.blocks_of(request.tokens() + rank.terms->decodes.lookahead) - hit.blocks <= free;
}

// Tokens of one prompt in this iteration; 0: it does not come in.
std::int64_t context_tokens(const Rank& rank, std::int64_t left, std::int64_t budget) {
  const EngineSettings& settings = rank.terms->settings;
  // Alone it may be above the budget: paused, it has grown beyond what was admitted.
  if (!settings.chunked_prefill)
    return left <= budget || budget == settings.batch_tokens ? left : 0;
  if (left <= budget) return left;
  return budget / rank.pool.block() * rank.pool.block();
}

struct Contexts {
  std::int64_t count = 0, tokens = 0;  // whole prompts, as _waiting_requests counts them
};

// What would be scheduled if nothing were held back.
Contexts contexts_to_come(const Rank& rank, const Lane& lane, std::int64_t budget) {
  Contexts contexts;
  for (const Slot slot : lane.prefilling) {
    const RequestState& request = (*rank.table)[slot];
    const std::int64_t tokens = context_tokens(rank, request.tokens() - request.computed, budget);
    if (tokens == 0) return contexts;
    ++contexts.count;
    contexts.tokens += request.tokens();
    budget -= tokens;
  }
  std::int64_t promised = rank.still_promised(), begun = rank.active;
  for (std::size_t i = 0; i < rank.waiting.size() && budget > 0; ++i) {
    const Slot slot = rank.waiting[i];
    const RequestState& request = (*rank.table)[slot];
    const PrefixHit hit = rank.pool.lookup(request, rank.table->prefix(slot), request.tokens());
    const std::int64_t tokens = context_tokens(
        rank, request.tokens() - std::max(hit.blocks * rank.pool.block(), request.ready), budget);
    if (tokens <= 0 || begun++ >= rank.terms->most_running ||
        !has_capacity(rank, request, hit, promised))
      break;
    promised += rank.whole_blocks(request);
    ++contexts.count;
    contexts.tokens += request.tokens();
    budget -= tokens;
  }
  return contexts;
}

std::int64_t context_budget(const Rank& rank, const Lane& lane) {
  return rank.terms->settings.batch_tokens - lane.decodes.size() * rank.terms->decode_tokens;
}

// Batch waiting. True: prompts stay out of this iteration.
bool waits_for_more(Rank& rank, const Lane& lane, std::int64_t budget) {
  const EngineSettings& settings = rank.terms->settings;
  const bool enabled = settings.batch_wait_iterations > 0 || settings.batch_wait_ratio > 0;
  if (!enabled || rank.terms->ranks > 1 || lane.decodes.size() == 0) return false;
  const Contexts contexts = contexts_to_come(rank, lane, budget);
  if (contexts.count == 0) return false;
  const std::int64_t scheduled = contexts.tokens + lane.decodes.size() * rank.terms->decode_tokens;
  const bool stops = rank.held_back >= settings.batch_wait_iterations ||
                     static_cast<double>(scheduled) >=
                         settings.batch_wait_ratio * static_cast<double>(settings.batch_tokens);
  rank.held_back = stops ? 0 : rank.held_back + 1;
  return !stops;
}

// False: the head of the queue cannot be begun.
bool begin_context(Rank& rank, Lane& lane, std::int64_t& budget) {
  const Slot slot = rank.waiting.front();
  const RequestState& request = rank.state(slot);
  const PrefixHit hit = rank.pool.lookup(request, rank.table->prefix(slot), request.tokens());
  if (!has_capacity(rank, request, hit, rank.still_promised())) return false;
  if (Rank::comes_computed(request)) {
    if (budget < rank.terms->decode_tokens) return false;
    rank.admit(lane, hit);
    rank.add_decode(lane, slot);
    budget -= rank.terms->decode_tokens;
    return true;
  }
  const std::int64_t known = std::max(hit.blocks * rank.pool.block(), request.ready);
  const std::int64_t tokens = context_tokens(rank, request.tokens() - known, budget);
  if (tokens == 0) return false;
  rank.admit(lane, hit);
  rank.add_chunk(lane, slot, tokens);
  budget -= tokens;
  return true;
}

// Prompts that were cut go on. False: the blocks or the budget are spent.
bool continue_contexts(Rank& rank, Lane& lane, std::int64_t& budget) {
  for (std::size_t i = 0; i < lane.prefilling.size();) {
    const Slot slot = lane.prefilling[i];
    const RequestState& request = rank.state(slot);
    const std::int64_t tokens = context_tokens(rank, request.tokens() - request.computed, budget);
    if (tokens == 0) return false;
    if (rank.lacks(request, request.computed + tokens) > rank.pool.free()) {
      // MAX_UTILIZATION pauses the last begun; nobody else has a claim on what it held.
      rank.preempt(lane, lane.running.back(), true);
      return false;
    }
    rank.add_chunk(lane, slot, tokens);
    budget -= tokens;
    if (i < lane.prefilling.size() && lane.prefilling[i] == slot) ++i;
  }
  return true;
}

}  // namespace

void balance(std::span<Rank> ranks, std::size_t lane) {
  bool all_have_contexts = true, all_generate = true, all_have_room = true;
  for (Rank& rank : ranks) {
    const Lane& batch = rank.lanes[lane];
    all_have_contexts &= contexts_to_come(rank, batch, context_budget(rank, batch)).count > 0;
    all_generate &= batch.decodes.size() > 0;
    all_have_room &= batch.decodes.size() < rank.terms->most_running;
  }
  Rank& first = ranks.front();
  const EngineSettings& settings = first.terms->settings;
  bool hold = false;
  if (all_have_room && all_have_contexts) {
    first.balance_waits = 0;
    if (all_generate) {
      hold = first.balance_batches < settings.balance_wait_iterations;
      first.balance_batches = hold ? first.balance_batches + 1 : 0;
    }
  } else {
    ++first.balance_waits;
    hold = first.balance_waits < settings.balance_timeout_iterations && all_generate;
    if (!hold) first.balance_waits = 0;
  }
  for (Rank& rank : ranks) {
    rank.hold = hold;
    rank.all_generate = all_generate;
  }
}

void plan_trtllm(Rank& rank, Lane& lane) {
  lane.chunks.clear();
  rank.closed = false;
  rank.alike = kForEver;
  const bool kept = rank.settle_decodes(lane);
  std::int64_t budget = context_budget(rank, lane);
  rank.waits = !rank.hold && waits_for_more(rank, lane, budget);
  lane.decode = lane.decodes.size() > 0;
  const bool waiting = !rank.waiting.empty() || !lane.prefilling.empty();
  if (rank.hold) {
    if (waiting) rank.alike = 0;
    return;
  }
  if (rank.waits) {
    rank.alike = rank.terms->settings.batch_wait_iterations - rank.held_back;
    // Without blocks kept for answers, those that decodes take may be what the prompts waited for.
    const bool keeps = rank.terms->settings.capacity == CapacityPolicy::kNoEvict;
    if (!kept || !keeps || !rank.late.empty()) rank.alike = 0;
    return;
  }
  bool refused = !continue_contexts(rank, lane, budget);
  if (!kept || !lane.prefilling.empty()) rank.alike = 0;
  if (!kept) return;
  while (!refused && !rank.waiting.empty() && rank.active < rank.terms->most_running)
    refused = !begin_context(rank, lane, budget);
  lane.decode = lane.decodes.size() > 0;
  rank.closed = rank.late.empty() && lane.prefilling.empty() &&
                (refused || rank.active >= rank.terms->most_running);
  if (!rank.late.empty() && rank.outstanding() > rank.active) rank.alike = 0;
  if (!lane.chunks.empty()) rank.alike = 0;
}

}  // namespace flopcast::serving
