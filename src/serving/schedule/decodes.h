// The requests of a batch that are past their prompt, kept as sums: a step of all of them costs the same however many
// they are. What happens to one of them after a known number of steps (its answer ends, its context reaches what a
// window holds) stands in a calendar; who needs a new block is known by phase, tokens modulo block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "serving/schedule/blocks.h"
#include "serving/schedule/progress.h"
#include "serving/schedule/requests.h"

namespace flopcast::serving {

/// What decodes of every batch of a replica have in common.
struct DecodeTerms {
  Progress progress;
  std::int64_t block = 16;
  std::int64_t cap = 0;        ///< tokens a window holds; 0: there are none
  std::int64_t lookahead = 0;  ///< tokens a block must be there for beyond those made: drafts
  std::int64_t clip = 0;       ///< owed() counts at most so many of a request; 0: all
};

/// Decodes of one batch, in steps.
class Decodes {
 public:
  explicit Decodes(const DecodeTerms& terms);

  std::int64_t size() const { return size_; }
  std::int64_t steps() const { return steps_; }        ///< done so far, by all there ever were
  std::int64_t context() const { return context_; }    ///< sum of prompts and answers
  std::int64_t capped() const { return capped_; }      ///< the same, each at most `cap`
  std::int64_t uncapped() const { return uncapped_; }  ///< whose context is below the cap
  std::int64_t to_make() const { return to_make_; }    ///< tokens of answers still to come
  std::int64_t owed() const { return owed_; }          ///< the same, each at most `clip`
  std::int64_t pending() const {
    return pending_;
  }  ///< blocks the next step needs and does not have
  /// Tokens each makes in the next `steps` steps.
  std::int64_t gain(std::int64_t steps) const {
    return terms_.progress.tokens(steps_ + steps) - made_;
  }

  /// state.made, blocks, input, output, order are right; it takes part from the next step on.
  /// @param tell whether take_mark() tells its first step
  void join(RequestTable& table, Slot slot, bool tell = false);
  /// Leaves, with state.made and state.blocks as they are now.
  void leave(RequestTable& table, Slot slot);
  /// Blocks were found for all that was pending.
  void settle() { blocks_ += pending_, pending_ = 0, settled_ = true; }
  std::int64_t blocks() const {
    return blocks_;
  }  ///< that its members hold, shared ones once for each
  /// Blocks a member lacks for the next step.
  std::int64_t lacks(const RequestState& state) const {
    return std::max<std::int64_t>(needs(state) - held(state), 0);
  }
  std::int64_t needs(const RequestState& state) const;  ///< blocks it must hold for the next step
  std::int64_t held(const RequestState& state) const;   ///< blocks it holds
  std::int64_t made(const RequestState& state) const {
    return state.made + made_ - terms_.progress.tokens(state.joined);
  }

  /// Steps until something in the calendar happens, its step included; at least 1.
  std::int64_t to_next_mark(const RequestTable& table);
  /// Blocks needed until each has `tokens` more.
  std::int64_t blocks_for(std::int64_t tokens) const;
  /// Steps, the next one included, that can be made if blocks for the next one are there, and `free`
  /// blocks beside them.
  std::int64_t steps_within(std::int64_t free) const;

  /// `steps` steps pass, none beyond the next mark; blocks for all of them but the first are taken.
  void pass(std::int64_t steps, BlockPool& pool);
  /// What a step did to a member.
  struct Told {
    Slot slot = kNoSlot;  ///< kNoSlot: nothing more
    bool ended = false;   ///< its answer is complete, it has left; else its first step was made
  };
  /// The next of them, in order of admission.
  Told take_mark(RequestTable& table);

 private:
  enum class Kind : std::uint8_t { kCap, kClip, kFirst, kEnd };  // at one step, in this order
  struct Mark {
    std::int64_t step = 0;    // happens when so many steps are done
    std::uint64_t order = 0;  // of the request, and its admission: another order, another stay
    Slot slot = kNoSlot;
    Kind kind = Kind::kEnd;
    bool operator>(const Mark& other) const {
      if (step != other.step) return step > other.step;
      return order != other.order ? order > other.order : kind > other.kind;
    }
  };
  void mark(std::int64_t tokens, const RequestState& state, Slot slot, Kind kind);
  bool stale(const Mark& mark, const RequestTable& table) const;
  void pop_mark();
  void reach(const Mark& mark, const RequestState& state);
  std::int64_t remaining(const RequestState& state) const { return state.output - made(state); }
  std::int64_t phase_of(const RequestState& state) const;

  DecodeTerms terms_;
  std::int64_t size_ = 0, steps_ = 0, made_ = 0;  // made_: tokens each would have made since step 0
  std::int64_t last_made_ = 0;                    // the same one step before
  std::int64_t context_ = 0, capped_ = 0, uncapped_ = 0, to_make_ = 0, owed_ = 0, clipped_ = 0;
  std::int64_t pending_ = 0, blocks_ = 0;
  bool settled_ = false;                // the next step's blocks are there
  std::int64_t turn_ = 0;               // made_ modulo block
  std::vector<std::int64_t> by_phase_;  // members by (tokens - made_) modulo block
  std::vector<Mark> marks_;             // a heap
};

}  // namespace flopcast::serving
