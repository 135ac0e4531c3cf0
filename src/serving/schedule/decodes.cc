#include "serving/schedule/decodes.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace flopcast::serving {

Decodes::Decodes(const DecodeTerms& terms)
    : terms_(terms), by_phase_(static_cast<std::size_t>(terms.block)) {}

std::int64_t Decodes::needs(const RequestState& state) const {
  return (state.input + made(state) + terms_.lookahead + terms_.block - 1) / terms_.block;
}

std::int64_t Decodes::held(const RequestState& state) const {
  if (settled_) return std::max(state.blocks, needs(state));
  if (state.joined == steps_) return state.blocks;
  const std::int64_t before = state.made + last_made_ - terms_.progress.tokens(state.joined);
  return std::max(state.blocks,
                  (state.input + before + terms_.lookahead + terms_.block - 1) / terms_.block);
}

// Members of one phase need a block at the same token.
std::int64_t Decodes::phase_of(const RequestState& state) const {
  const std::int64_t at = state.input + made(state) + terms_.lookahead - made_;
  return ((at % terms_.block) + terms_.block) % terms_.block;
}

void Decodes::mark(std::int64_t tokens, const RequestState& state, Slot slot, Kind kind) {
  marks_.push_back({terms_.progress.reach(made_ + tokens), state.order, slot, kind});
  std::push_heap(marks_.begin(), marks_.end(), std::greater<>());
}

void Decodes::join(RequestTable& table, Slot slot, bool tell) {
  RequestState& state = table[slot];
  state.joined = steps_;
  const std::int64_t tokens = state.tokens(), left = state.output - state.made;
  ++size_;
  context_ += tokens;
  to_make_ += left;
  const std::int64_t lacking = std::max<std::int64_t>(needs(state) - state.blocks, 0);
  pending_ += lacking;
  if (lacking > 0) settled_ = false;
  blocks_ += state.blocks;
  ++by_phase_[static_cast<std::size_t>(phase_of(state))];
  if (tell) mark(1, state, slot, Kind::kFirst);
  mark(left, state, slot, Kind::kEnd);
  if (terms_.cap > 0) {
    capped_ += std::min(tokens, terms_.cap);
    if (tokens < terms_.cap) {
      ++uncapped_;
      const Progress& progress = terms_.progress;
      if (progress.reach(made_ + terms_.cap - tokens) <= progress.reach(made_ + left))
        mark(terms_.cap - tokens, state, slot, Kind::kCap);
    }
  }
  if (terms_.clip > 0 && left > terms_.clip) {
    ++clipped_;
    mark(left - terms_.clip, state, slot, Kind::kClip);
  }
  owed_ += terms_.clip > 0 ? std::min(left, terms_.clip) : left;
}

void Decodes::leave(RequestTable& table, Slot slot) {
  RequestState& state = table[slot];
  const std::int64_t lacked = lacks(state), now = held(state);
  --by_phase_[static_cast<std::size_t>(phase_of(state))];
  state.made = made(state);
  state.joined = steps_;
  --size_;
  pending_ -= lacked;
  blocks_ -= now;
  state.blocks = now;
  const std::int64_t tokens = state.tokens(), left = state.output - state.made;
  context_ -= tokens;
  to_make_ -= left;
  if (terms_.cap > 0) {
    capped_ -= std::min(tokens, terms_.cap);
    if (tokens < terms_.cap) --uncapped_;
  }
  if (terms_.clip > 0 && left > terms_.clip) --clipped_;
  owed_ -= terms_.clip > 0 ? std::min(left, terms_.clip) : left;
  state.order = 0;  // its marks are stale
}

bool Decodes::stale(const Mark& mark, const RequestTable& table) const {
  return table[mark.slot].order != mark.order;
}

void Decodes::pop_mark() {
  std::pop_heap(marks_.begin(), marks_.end(), std::greater<>());
  marks_.pop_back();
}

std::int64_t Decodes::to_next_mark(const RequestTable& table) {
  while (!marks_.empty() && stale(marks_.front(), table)) pop_mark();
  return marks_.empty() ? std::numeric_limits<std::int64_t>::max() : marks_.front().step - steps_;
}

std::int64_t Decodes::blocks_for(std::int64_t tokens) const {
  std::int64_t blocks = 0, rest = tokens;
  if (tokens >= terms_.block) blocks = tokens / terms_.block * size_, rest = tokens % terms_.block;
  // A token more costs those a block whose tokens fill theirs: phase + made_ = 0 modulo block.
  std::int64_t phase = turn_ == 0 ? 0 : terms_.block - turn_;
  for (; rest > 0; --rest) {
    blocks += by_phase_[static_cast<std::size_t>(phase)];
    phase = phase == 0 ? terms_.block - 1 : phase - 1;
  }
  return blocks;
}

std::int64_t Decodes::steps_within(std::int64_t free) const {
  if (size_ == 0) return std::numeric_limits<std::int64_t>::max();
  std::int64_t tokens = free / size_ * terms_.block;
  free %= size_;
  std::int64_t phase = turn_ == 0 ? 0 : terms_.block - turn_;
  for (std::int64_t i = 0; i < terms_.block; ++i) {
    free -= by_phase_[static_cast<std::size_t>(phase)];
    if (free < 0) break;
    phase = phase == 0 ? terms_.block - 1 : phase - 1;
    ++tokens;
  }
  // Before its last step each has at most `tokens` more than now.
  return terms_.progress.within(made_ + tokens) - steps_ + 1;
}

void Decodes::reach(const Mark& mark, const RequestState& state) {
  if (mark.kind == Kind::kCap) {
    capped_ -= state.input + made(state) - terms_.cap;
    --uncapped_;
  } else {
    owed_ -= terms_.clip - remaining(state);
    --clipped_;
  }
}

void Decodes::pass(std::int64_t steps, BlockPool& pool) {
  const std::int64_t all = gain(steps), before = gain(steps - 1);
  const std::int64_t taken = steps > 1 ? blocks_for(before) : 0;
  pool.take(taken);
  blocks_ += taken;
  pending_ = blocks_for(all) - taken;
  context_ += size_ * all;
  capped_ += uncapped_ * all;
  to_make_ -= size_ * all;
  owed_ -= (size_ - clipped_) * all;
  last_made_ = made_ + before;
  made_ += all;
  steps_ += steps;
  turn_ += all;
  if (turn_ >= terms_.block) turn_ %= terms_.block;
  settled_ = false;
}

Decodes::Told Decodes::take_mark(RequestTable& table) {
  while (!marks_.empty() && marks_.front().step <= steps_) {
    const Mark first = marks_.front();
    pop_mark();
    if (stale(first, table)) continue;
    if (first.kind == Kind::kFirst) return {first.slot, false};
    if (first.kind == Kind::kEnd) {
      leave(table, first.slot);
      return {first.slot, true};
    }
    reach(first, table[first.slot]);
  }
  return {};
}

}  // namespace flopcast::serving
