// Engine: requests in and out, and what is asked of it between iterations. Part of engine.h.
#pragma once

#include <fmt/format.h>

#include "serving/replica/engine.h"

namespace flopcast::serving {

template <class Pricing>
std::optional<Diagnostic> Engine<Pricing>::refusal(const ReplicaRequest& request) const {
  const RankTerms& terms = terms_.rank;
  const std::int64_t tokens = request.input + request.output;
  const auto large = [&](std::string what, std::string hint) {
    return Diagnostic{ErrorCode::kTooLarge, fmt::format("request {}", request.id), std::move(what),
                      std::move(hint)};
  };
  if (terms_.longest > 0 && tokens > terms_.longest)
    return large(
        fmt::format("{} tokens of prompt and {} of answer, where the model takes {} in all",
                    request.input, request.output, terms_.longest),
        "shorten the prompt or the answer");
  const std::int64_t room = terms.blocks * terms.settings.block;
  // SGLang wants a token more than it will fill (schedule_policy.py, add_one_req).
  const std::int64_t spare = terms.settings.engine == ServingEngine::kSglang ? 1 : 0;
  if (tokens + terms.decodes.lookahead + spare > room)
    return large(fmt::format("needs keys and values of {} tokens, where a rank has room for {}",
                             tokens + terms.decodes.lookahead + spare, room),
                 "cut the model over more chips, store keys and values in fewer bits, or give the "
                 "engine more of the memory");
  const bool whole =
      !terms.settings.chunked_prefill && terms.settings.engine != ServingEngine::kSglang;
  if (whole && request.input - request.ready > terms.settings.batch_tokens)
    return large(fmt::format("a prompt of {} tokens, where an iteration takes {} and prompts are "
                             "not cut",
                             request.input, terms.settings.batch_tokens),
                 fmt::format("allow chunked prefill, or set batch_tokens to {}", request.input));
  return std::nullopt;
}

/// Who gets a request that names no rank. vLLM: least of 4 x waiting + running
/// (vllm/v1/engine/core_client.py, DPLBAsyncMPClient). SGLang: round robin
/// (managers/data_parallel_controller.py). TensorRT-LLM: fewest requests
/// (_torch/pyexecutor/executor_request_queue.py).
template <class Pricing>
unsigned Engine<Pricing>::rank_of(const ReplicaRequest& request) {
  if (request.rank < terms_.rank.ranks) return request.rank;
  if (terms_.rank.ranks == 1) return 0;
  if (terms_.rank.settings.engine == ServingEngine::kSglang)
    return std::exchange(next_rank_, (next_rank_ + 1) % terms_.rank.ranks);
  const std::int64_t weight = terms_.rank.settings.engine == ServingEngine::kVllm ? 4 : 1;
  unsigned best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (unsigned r = 0; r < terms_.rank.ranks; ++r) {
    const Rank& rank = ranks_[r];
    const std::int64_t load = rank.active + weight * (rank.outstanding() - rank.active);
    if (load < least) least = load, best = r;
  }
  return best;
}

template <class Pricing>
std::optional<Diagnostic> Engine<Pricing>::submit(const ReplicaRequest& request, Time at) {
  if (auto problem = refusal(request)) return problem;
  Rank& rank = ranks_[rank_of(request)];
  const Slot slot = table_.add();
  RequestState& state = table_[slot];
  state.id = request.id;
  // An iteration that begins now has begun without it.
  const bool late = std::any_of(flights_.begin(), flights_.end(), [&](const Flight& flight) {
    return flight.busy && at <= flight.begins(flight.passed(now_, progress()), progress());
  });
  state.at = late ? Time{at.ps + 1} : at;
  state.input = std::max<std::int64_t>(request.input, 1);
  state.output = std::max<std::int64_t>(request.output, 1);
  state.ready = std::clamp<std::int64_t>(request.ready, 0, state.input);
  state.made = state.ready == state.input ? 1 : 0;
  if (terms_.rank.settings.prefix_cache && request.prefix_block > 0) {
    table_.prefix(slot).assign(request.prefix.begin(), request.prefix.end());
    state.prefix_block = request.prefix_block;
  }
  rank.submit(slot);
  if (Flight& flight = flights_.front(); flight.busy) {
    const std::int64_t steps = flight.steps;
    cut(rank, state.at, flight.passed(now_, progress()) + 1);
    if (options_.record_samples && flight.steps < steps) {
      samples_.back().end = flight.end;
      samples_.back().iterations = flight.steps;
    }
  }
  std::replace(ready_.begin(), ready_.end(), Time::max(), at);
  return std::nullopt;
}

template <class Pricing>
void Engine<Pricing>::cancel(std::uint32_t id) {
  for (Slot slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].id != id || table_[slot].phase == RequestState::Phase::kFree) continue;
    split();
    ranks_[table_[slot].rank].cancel(slot);
    return;
  }
}

template <class Pricing>
std::int64_t Engine<Pricing>::waiting() const {
  std::size_t count = 0;
  for (const Rank& rank : ranks_) count += rank.arrivals.size() + rank.waiting.size();
  return static_cast<std::int64_t>(count);
}

template <class Pricing>
std::int64_t Engine<Pricing>::running() const {
  std::int64_t count = 0;
  for (const Rank& rank : ranks_)
    for (const Lane& lane : rank.lanes) count += lane.running.size();
  return count;
}

template <class Pricing>
std::int64_t Engine<Pricing>::blocks_used() const {
  const Flight& flight = flights_.front();
  const std::int64_t passed = flight.busy ? flight.passed(now_, progress()) : 0;
  std::int64_t blocks = 0;
  for (const Rank& rank : ranks_) {
    blocks += rank.pool.used();
    const Decodes& decodes = rank.lanes.front().decodes;
    if (passed > 0) blocks += decodes.blocks_for(decodes.gain(passed));
  }
  return blocks;
}

template <class Pricing>
std::int64_t Engine<Pricing>::outstanding_tokens() const {
  const Flight& flight = flights_.front();
  const std::int64_t passed = flight.busy ? flight.passed(now_, progress()) : 0;
  std::int64_t tokens = 0;
  for (const Rank& rank : ranks_) {
    const Decodes& decodes = rank.lanes.front().decodes;
    tokens += rank.to_compute() - (passed > 0 ? decodes.size() * decodes.gain(passed) : 0);
  }
  return tokens;
}

template <class Pricing>
std::int64_t Engine<Pricing>::cached_tokens(std::span<const std::uint64_t> prefix,
                                            std::int64_t prefix_block) const {
  std::int64_t most = 0;
  for (const Rank& rank : ranks_)
    most = std::max(most, rank.pool.cached_tokens(prefix, prefix_block));
  return most;
}

}  // namespace flopcast::serving
