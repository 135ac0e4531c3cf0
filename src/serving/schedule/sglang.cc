// The rules of SGLang, as of 0.5.9: python/sglang/srt/managers/scheduler.py (get_next_batch_to_run,
// get_new_batch_prefill, update_running_batch), schedule_policy.py (PrefillAdder) and schedule_batch.py (retract_decode).
//
// - Prompts first: where one waits and fits, a batch of prompts alone runs and the decodes stand still, unless
//   enable-mixed-chunk lets them run beside it. A batch takes chunked_prefill_size tokens, max_prefill_tokens of new
//   prompts, and cuts one prompt at a time. First come, first served.
// - A prompt fits if there is room for it, for its whole answer (4096 tokens of it at most) and for new_token_ratio of
//   what the running answers have still to come. The ratio falls with every decode.
//   Without a prefix cache, answers whose length is known (ours; ignore_eos) are followed to their ends instead: it fits
//   if at no end before there is less than a token left for each of those still running.
// - Once one did not fit, nobody is asked again before the running batch has shrunk.
// - Where decodes find no room, those with the shortest answers so far are retracted to the end of the queue, and the
//   ratio is set anew from how far the others are.
#include <algorithm>
#include <utility>
#include <vector>

#include "serving/schedule/rules.h"

namespace flopcast::serving {
namespace {

// schedule_batch.py: tokens an answer is taken to grow by before the next retraction (SGLANG_RETRACT_DECODE_STEPS).
constexpr std::int64_t kRetractSteps = 20;
constexpr int kRatioBits = 32;

// What PrefillAdder counts while it fills a batch.
struct PromptBudget {
  std::int64_t tokens = 0;  // of new prompts
  std::int64_t chunk = 0;   // of the batch
  std::int64_t kept = 0;    // room kept for answers

  bool spent() const { return tokens <= 0 || chunk <= 0; }
};

std::int64_t sglang_answer(const Rank& rank, const RequestState& request) {
  return std::min(request.output - request.made, rank.terms->decodes.clip);
}

PromptBudget prompt_budget(const Rank& rank, const Lane& lane) {
  const EngineSettings& settings = rank.terms->settings;
  const std::int64_t beside = settings.mixed_chunks ? lane.decodes.size() : 0;
  PromptBudget budget;
  budget.tokens = settings.prefill_tokens - beside;
  budget.chunk = settings.chunked_prefill ? settings.batch_tokens - beside : kForEver;
  // Answers to come are fewer than 2^31 tokens.
  budget.kept = (lane.decodes.owed() * rank.new_token_ratio) >> kRatioBits;
  return budget;
}

void spend(PromptBudget& budget, std::int64_t tokens) {
  budget.tokens -= tokens;
  if (budget.chunk != kForEver) budget.chunk -= tokens;
}

// The prompt that was cut goes on before any other is begun (add_chunked_req).
void continue_cut_prompt(Rank& rank, Lane& lane, PromptBudget& budget) {
  const Slot slot = lane.prefilling.front();
  const RequestState& request = rank.state(slot);
  const std::int64_t left = request.tokens() - request.computed;
  const std::int64_t room =
      (rank.pool.free() + request.blocks) * rank.pool.block() - request.computed;
  const std::int64_t tokens = std::min({left, budget.chunk, room});
  if (tokens <= 0) return;
  if (tokens == left) budget.kept += sglang_answer(rank, request);
  rank.add_chunk(lane, slot, tokens);
  spend(budget, tokens);
}

// An answer under way, as add_one_req_ignore_eos follows it.
struct AnswerLeft {
  std::int64_t left = 0, held = 0;  // tokens still to come, and those in memory
};

// Whether there is room at every end of an answer if this one of `tokens` tokens is begun.
bool room_at_every_end(Rank& rank, Lane& lane, const RequestState& request, std::int64_t tokens) {
  const std::int64_t free = rank.pool.free() * rank.pool.block() - tokens;
  std::vector<AnswerLeft> answers = {{request.output - request.made, request.tokens()}};
  // Ends cannot ask for more than all answers together.
  std::int64_t all = lane.decodes.to_make() + answers[0].left;
  for (const Chunk& chunk : lane.chunks) {
    const RequestState& begun = rank.state(chunk.slot);
    answers.push_back({begun.output - begun.made, begun.tokens()});
    all += answers.back().left;
  }
  const auto count = static_cast<std::int64_t>(answers.size()) + lane.decodes.size();
  if (free - all > count) return true;
  for (Slot slot = lane.running.front(); slot != kNoSlot; slot = rank.state(slot).after) {
    const RequestState& running = rank.state(slot);
    if (running.phase != RequestState::Phase::kDecode) continue;
    const std::int64_t made = lane.decodes.made(running);
    answers.push_back({running.output - made, running.input + made});
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const AnswerLeft& a, const AnswerLeft& b) { return a.left < b.left; });
  std::int64_t freed = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto still = static_cast<std::int64_t>(answers.size() - i);
    if (free + freed - answers[i].left * still <= still) return false;
    freed += answers[i].held;
  }
  return true;
}

enum class Added : std::uint8_t { kWhole, kCut, kNoRoom, kNoBudget };

// add_one_req.
Added add_next_prompt(Rank& rank, Lane& lane, PromptBudget& budget) {
  const Slot slot = rank.waiting.front();
  const RequestState& request = rank.state(slot);
  const PrefixHit hit = rank.pool.lookup(request, rank.table->prefix(slot), request.tokens());
  const bool computed = Rank::comes_computed(request);
  const std::int64_t page = rank.pool.block();
  const std::int64_t known = computed ? 0 : std::max(hit.blocks * page, request.ready);
  const std::int64_t tokens = request.tokens() - known, answer = sglang_answer(rank, request);
  const std::int64_t room = (rank.pool.free() - hit.idle) * page - budget.kept;
  const std::int64_t new_blocks =
      rank.pool.blocks_of(request.tokens() + (computed ? rank.terms->decodes.lookahead : 0)) -
      hit.blocks;
  const bool fits = rank.terms->settings.prefix_cache
                        ? tokens + answer < room
                        : tokens <= room && room_at_every_end(rank, lane, request, tokens);
  // With nothing else to run it has all the room there is.
  if ((!fits && rank.active > 0) || new_blocks > rank.pool.free() - hit.idle) return Added::kNoRoom;
  if (computed) {
    rank.admit(lane, hit);
    rank.add_decode(lane, slot);
    budget.kept += answer;
    return Added::kWhole;
  }
  if (tokens >= budget.tokens && !lane.chunks.empty()) return Added::kNoBudget;
  if (tokens <= budget.chunk) {
    rank.admit(lane, hit);
    rank.add_chunk(lane, slot, tokens);
    spend(budget, (tokens + page - 1) / page * page);
    budget.kept += answer;
    return Added::kWhole;
  }
  const std::int64_t cut = budget.chunk / page * page;
  if (cut <= 0) return Added::kNoBudget;
  rank.admit(lane, hit);
  rank.add_chunk(lane, slot, cut);
  spend(budget, cut);
  return Added::kCut;
}

// get_new_batch_prefill.
void add_prompts(Rank& rank, Lane& lane) {
  if (lane.prefilling.empty() && (rank.full || rank.waiting.empty())) return;
  PromptBudget budget = prompt_budget(rank, lane);
  if (!lane.prefilling.empty()) continue_cut_prompt(rank, lane, budget);
  while (lane.prefilling.empty() && !rank.waiting.empty() && !budget.spent()) {
    if (rank.active >= rank.terms->most_running) {
      rank.full = true;
      return;
    }
    const Added added = add_next_prompt(rank, lane, budget);
    if (added == Added::kNoRoom) rank.full = true;
    if (added != Added::kWhole) return;
  }
}

// The decode with the shortest answer, of equals that with the longest prompt, then the last begun.
Slot first_to_retract(const Rank& rank, const Lane& lane) {
  Slot chosen = kNoSlot;
  std::int64_t made = 0;
  for (Slot slot = lane.running.front(); slot != kNoSlot; slot = (*rank.table)[slot].after) {
    const RequestState& request = (*rank.table)[slot];
    if (request.phase != RequestState::Phase::kDecode) continue;
    const std::int64_t its = lane.decodes.made(request);
    if (chosen != kNoSlot &&
        (its > made || (its == made && request.input < (*rank.table)[chosen].input)))
      continue;
    chosen = slot;
    made = its;
  }
  return chosen;
}

// retract_decode.
void retract(Rank& rank, Lane& lane) {
  while (lane.decodes.pending() > rank.pool.free()) {
    // The last decode is never retracted; a prompt that is being computed makes room for it.
    const Slot slot = lane.decodes.size() > 1 || lane.prefilling.empty()
                          ? first_to_retract(rank, lane)
                          : lane.prefilling.front();
    rank.preempt(lane, slot, false);
  }
  std::int64_t made = 0, all = 0;
  for (Slot slot = lane.running.front(); slot != kNoSlot; slot = rank.state(slot).after) {
    const RequestState& request = rank.state(slot);
    if (request.phase != RequestState::Phase::kDecode) continue;
    made += lane.decodes.made(request);
    all += request.output;
  }
  const std::int64_t reached = made + kRetractSteps * lane.decodes.size();
  rank.new_token_ratio =
      reached > all ? std::int64_t{1} << kRatioBits : (reached << kRatioBits) / (all + 1);
}

// update_running_batch. True: the batch is the one it was before.
bool prepare_decodes(Rank& rank, Lane& lane) {
  const bool shrunk = std::exchange(rank.shrunk, false);
  const bool retracts = lane.decodes.pending() > rank.pool.free();
  if (retracts) {
    retract(rank, lane);
  } else {
    rank.new_token_ratio =
        std::max(rank.new_token_ratio - rank.terms->ratio_decay, rank.terms->ratio_least);
  }
  if (shrunk || retracts) rank.full = false;
  rank.pool.take(lane.decodes.pending());
  lane.decodes.settle();
  lane.decode = lane.decodes.size() > 0;
  return !retracts;
}

}  // namespace

void plan_sglang(Rank& rank, Lane& lane) {
  lane.chunks.clear();
  lane.decode = false;
  rank.closed = false;
  rank.alike = kForEver;
  if (rank.active == 0) {
    rank.new_token_ratio = rank.terms->ratio_first;
    rank.full = false;
  }
  const bool beside = rank.terms->settings.mixed_chunks && lane.decodes.size() > 0 &&
                      lane.decodes.pending() <= rank.pool.free();
  if (beside) {
    rank.pool.take(lane.decodes.pending());
    lane.decodes.settle();
  }
  add_prompts(rank, lane);
  lane.decode = beside;
  if (!lane.chunks.empty()) {
    rank.alike = 0;
    return;
  }
  lane.decode = false;
  if (lane.decodes.size() == 0 && lane.prefilling.empty()) {
    if (!rank.waiting.empty() || !rank.late.empty()) rank.alike = 0;
    return;
  }
  const bool same = prepare_decodes(rank, lane);
  // Somebody who waits is asked, or a cut prompt goes on, in the next iteration.
  const bool asks = !rank.full && !rank.waiting.empty();
  if (!same || asks || !lane.prefilling.empty()) rank.alike = 0;
  // What ended late is seen to have shrunk the batch by the next plan.
  if (!rank.late.empty()) rank.alike = 0;
  rank.closed = rank.full && rank.late.empty();
}

}  // namespace flopcast::serving
