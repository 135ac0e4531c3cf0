#include "serving/schedule/rank.h"

#include <algorithm>
#include <cmath>

namespace flopcast::serving {
namespace {

using Phase = RequestState::Phase;

// Tokens of a request's answer that SGLang keeps room for at most (schedule_policy.py, CLIP_MAX_NEW_TOKENS).
constexpr std::int64_t kSglangClip = 4096;

// Tokens of a request that waits.
std::int64_t left_of(const RequestState& request) {
  return request.tokens() - request.ready + request.output - request.made;
}

}  // namespace

RankTerms rank_terms(const EngineSettings& settings, std::int64_t blocks, std::int64_t cap,
                     unsigned lanes, unsigned ranks) {
  RankTerms terms;
  terms.settings = settings;
  const bool drafting = settings.speculation.kind != Speculation::Kind::kNone;
  const std::int64_t drafts = drafting ? settings.speculation.drafts : 0;
  terms.decode_tokens = 1 + drafts;
  terms.decodes.progress = Progress(settings.speculation);
  terms.decodes.block = settings.block;
  terms.decodes.cap = cap;
  // vLLM keeps room for the drafts of this step and of the next (num_lookahead_tokens).
  terms.decodes.lookahead = settings.engine == ServingEngine::kVllm ? 2 * drafts : drafts;
  terms.most_running = settings.max_requests;
  if (settings.engine == ServingEngine::kSglang) {
    terms.decodes.clip = kSglangClip;
    const double first = std::min(0.7 * settings.conservativeness, 1.0), least = 0.14 * first;
    constexpr double kUnit = 4294967296.0;
    terms.ratio_first = std::llround(first * kUnit);
    terms.ratio_least = std::llround(least * kUnit);
    terms.ratio_decay = std::llround((first - least) / 600 * kUnit);
  } else {
    // A batch whose decodes alone were above the budget would starve some: they are not admitted.
    terms.most_running = std::min(terms.most_running, settings.batch_tokens / terms.decode_tokens);
  }
  terms.most_running = std::max<std::int64_t>(terms.most_running, 1);
  terms.blocks = blocks;
  terms.lanes = std::max(lanes, 1U);
  terms.ranks = std::max(ranks, 1U);
  return terms;
}

RankLoad Lane::load() const {
  RankLoad load;
  if (decode) {
    load.decodes = decodes.size();
    load.context = decodes.context();
    load.capped_context = decodes.capped();
    load.uncapped = decodes.uncapped();
  }
  for (const Chunk& chunk : chunks) {
    ++load.prefills;
    load.prefill_tokens += chunk.tokens;
    load.prefill_pairs += chunk.tokens * (2 * chunk.before + chunk.tokens + 1);
    load.prefill_context += chunk.before;
    load.sampled += chunk.last ? 1 : 0;
  }
  return load;
}

Rank::Rank(const RankTerms& its_terms, RequestTable& its_table, std::uint16_t its_index)
    : terms(&its_terms),
      table(&its_table),
      index(its_index),
      pool(its_terms.blocks, its_terms.settings.block, its_terms.settings.prefix_cache) {
  new_token_ratio = its_terms.ratio_first;
  for (unsigned i = 0; i < its_terms.lanes; ++i) lanes.emplace_back(its_terms.decodes);
}

void Rank::submit(Slot slot) {
  RequestState& request = state(slot);
  request.rank = index;
  request.phase = Phase::kWaiting;
  queued += left_of(request);
  arrivals.push_back(slot);
}

std::int64_t Rank::to_compute() const {
  std::int64_t tokens = queued;
  for (const Lane& lane : lanes) {
    tokens += lane.decodes.to_make();
    for (const Slot slot : lane.prefilling) {
      const RequestState& request = (*table)[slot];
      tokens += request.tokens() - request.computed + request.output - request.made;
    }
    for (const Chunk& chunk : lane.chunks) {
      if (chunk.slot == kNoSlot) continue;
      const RequestState& request = (*table)[chunk.slot];
      tokens += chunk.tokens + (chunk.last ? request.output - request.made : 0);
    }
  }
  return tokens;
}

void Rank::see(Time horizon) {
  while (!arrivals.empty() && state(arrivals.front()).at <= horizon) {
    waiting.push_back(arrivals.front());
    arrivals.pop_front();
  }
}

void Rank::hold_blocks(RequestState& state, std::int64_t tokens) {
  const std::int64_t lacking = lacks(state, tokens);
  pool.take(lacking);
  state.blocks += lacking;
  if (state.phase == Phase::kPrefill) prompt_blocks += lacking;
}

std::int64_t Rank::still_promised() const {
  std::int64_t held = prompt_blocks;
  for (const Lane& lane : lanes) held += lane.decodes.blocks();
  return promised - held;
}

Slot Rank::admit(Lane& lane, const PrefixHit& hit) {
  const Slot slot = waiting.front();
  waiting.pop_front();
  RequestState& request = state(slot);
  queued -= left_of(request);
  pool.claim(request, table->prefix(slot), hit);
  request.computed = std::max(hit.blocks * pool.block(), request.ready);
  request.phase = Phase::kPrefill;
  request.order = ++table->admissions;
  request.lane = static_cast<std::uint16_t>(&lane - lanes.data());
  lane.running.push_back(*table, slot);
  ++active;
  promised += whole_blocks(request);
  found += hit.blocks * pool.block();
  prompt_blocks += request.blocks;
  if (!request.begun) notes.push_back({request.id, false});
  request.begun = true;
  return slot;
}

void Rank::add_chunk(Lane& lane, Slot slot, std::int64_t tokens) {
  RequestState& request = state(slot);
  const std::int64_t before = request.computed, after = before + tokens;
  hold_blocks(request, after);
  request.computed = after;
  pool.publish(request, table->prefix(slot));
  const bool last = after == request.tokens();
  lane.chunks.push_back({slot, before, tokens, last});
  const auto known = std::find(lane.prefilling.begin(), lane.prefilling.end(), slot);
  if (last && known != lane.prefilling.end()) lane.prefilling.erase(known);
  if (!last && known == lane.prefilling.end()) lane.prefilling.push_back(slot);
}

void Rank::add_decode(Lane& lane, Slot slot) {
  RequestState& request = state(slot);
  hold_blocks(request, request.tokens() + terms->decodes.lookahead);
  request.last_token = Time::min();
  join(lane, slot, true);
  lane.decode = true;
}

void Rank::join(Lane& lane, Slot slot, bool tell) {
  RequestState& request = state(slot);
  prompt_blocks -= request.blocks;
  request.phase = Phase::kDecode;
  lane.decodes.join(*table, slot, tell);
  if (!tokens_timed) return;
  for (Lane::Fresh& fresh : lane.fresh) {
    if (fresh.at != request.last_token) continue;
    ++fresh.count;
    return;
  }
  lane.fresh.push_back({request.last_token, 1});
}

void Rank::start_decoding(Lane& lane, Slot slot) { join(lane, slot, false); }

void Rank::unlist(Lane& lane, Slot slot) {
  const RequestState& request = state(slot);
  lane.running.erase(*table, slot);
  promised -= whole_blocks(request);
}

// Out of what it is in; `blocks` and `made` are then what they are now.
void Rank::leave(Lane& lane, Slot slot) {
  RequestState& request = state(slot);
  if (request.phase == Phase::kDecode) {
    if (tokens_timed && request.joined == lane.decodes.steps()) {
      for (Lane::Fresh& fresh : lane.fresh) fresh.count -= fresh.at == request.last_token ? 1 : 0;
    } else {
      request.last_token = lane.last_tokens;
    }
    lane.decodes.leave(*table, slot);
  } else {
    prompt_blocks -= request.blocks;
    std::erase(lane.prefilling, slot);
    for (Chunk& chunk : lane.chunks)
      if (chunk.slot == slot) chunk.slot = kNoSlot;  // its tokens are computed all the same
  }
  unlist(lane, slot);
}

void Rank::preempt(Lane& lane, Slot slot, bool to_head) {
  RequestState& request = state(slot);
  const bool decoding = request.phase == Phase::kDecode;
  const std::int64_t of_prompt = request.tokens() - 1;
  leave(lane, slot);
  // The last token that was made is not computed yet. SGLang's cache has what was computed as prompt.
  std::int64_t computed = decoding ? request.tokens() - 1 : request.computed;
  if (decoding && terms->settings.engine == ServingEngine::kSglang) computed = of_prompt;
  pool.release(request, table->prefix(slot), request.blocks, computed);
  request.computed = 0;
  request.ready = 0;
  request.phase = Phase::kWaiting;
  queued += left_of(request);
  --active;
  notes.push_back({request.id, true});
  to_head ? waiting.push_front(slot) : waiting.push_back(slot);
}

void Rank::retire(Lane& lane, Slot slot) {
  if (state(slot).phase == Phase::kPrefill) prompt_blocks -= state(slot).blocks;
  unlist(lane, slot);
  state(slot).phase = Phase::kEnded;
  late.push_back(slot);
}

void Rank::cancel(Slot slot) {
  RequestState& request = state(slot);
  if (request.phase == Phase::kEnded) return;
  if (request.phase == Phase::kWaiting) {
    queued -= left_of(request);
    arrivals.erase(slot);
    waiting.erase(slot);
    table->remove(slot);
    return;
  }
  leave(lanes[request.lane], slot);
  request.phase = Phase::kEnded;
  late.push_back(slot);
}

void Rank::release_late() {
  if (!late.empty()) shrunk = true;
  for (const Slot slot : late) {
    RequestState& request = state(slot);
    pool.release(request, table->prefix(slot), request.blocks, 0);
    --active;
    table->remove(slot);
  }
  late.clear();
}

bool Rank::settle_decodes(Lane& lane) {
  Decodes& decodes = lane.decodes;
  if (decodes.pending() <= pool.free()) {
    pool.take(decodes.pending());
    decodes.settle();
    return true;
  }
  for (Slot slot = lane.running.front(); slot != kNoSlot; slot = state(slot).after) {
    if (state(slot).phase != Phase::kDecode) continue;
    const std::int64_t lacking = decodes.lacks(state(slot));
    Slot victim = kNoSlot;
    while (lacking > pool.free() && victim != slot) {
      victim = lane.running.back();
      preempt(lane, victim, true);
    }
    if (victim == slot) break;
    pool.take(lacking);
  }
  decodes.settle();
  return false;
}

}  // namespace flopcast::serving
