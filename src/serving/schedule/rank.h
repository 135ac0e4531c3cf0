// One attention rank of an engine: its queue, its blocks, its batches, and the plan of the next iteration of each. What
// engines do differently is in the rules (rules.h); what they all do to a request is here.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "flopcast/serving/iteration.h"
#include "serving/schedule/blocks.h"
#include "serving/schedule/decodes.h"
#include "serving/schedule/requests.h"

namespace flopcast::serving {

/// What the rules of an engine need to know, the same for every rank.
struct RankTerms {
  EngineSettings settings;
  DecodeTerms decodes;
  std::int64_t decode_tokens = 1;  ///< a decode computes in an iteration: 1 + drafts
  std::int64_t most_running = 1;   ///< requests of a rank that are begun
  std::int64_t blocks = 0;         ///< of a rank
  unsigned lanes = 1;              ///< batches under way at once
  unsigned ranks = 1;              ///< attention ranks
  /// SGLang's share of answers to come that it keeps room for, in units of 2^-32: at first, least, and
  /// how much less after every decode
  std::int64_t ratio_first = 0, ratio_least = 0, ratio_decay = 0;
};
/// Of a deployment. @param cap IterationModel::context_cap() @param lanes IterationModel::in_flight()
RankTerms rank_terms(const EngineSettings& settings, std::int64_t blocks, std::int64_t cap,
                     unsigned lanes, unsigned ranks);

/// Tokens of a prompt in one iteration.
struct Chunk {
  Slot slot = kNoSlot;  ///< kNoSlot: cancelled while it was computed
  std::int64_t before = 0, tokens = 0;
  bool last = false;  ///< the prompt ends with it
};

/// What planning did that a client may want to know.
struct PlanNote {
  std::uint32_t id = 0;
  bool preempted = false;  ///< else it was begun, for the first time
};

/// One batch that goes through the stages, and the plan of its iteration.
struct Lane {
  explicit Lane(const DecodeTerms& terms) : decodes(terms) {}
  RunningList running;           ///< in order of admission
  std::vector<Slot> prefilling;  ///< of them, those whose prompt is not computed, in order
  Decodes decodes;               ///< the others
  bool decode = false;           ///< the iteration has the decodes
  std::vector<Chunk> chunks;     ///< and these
  /// when the decodes' last tokens came, but for those that joined since: `fresh`
  Time last_tokens = Time::min();
  struct Fresh {
    Time at;  ///< when their last tokens came; min: somewhere else
    std::int64_t count = 0;
  };
  std::vector<Fresh> fresh;  ///< kept where Rank::tokens_timed
  bool empty() const { return chunks.empty() && (!decode || decodes.size() == 0); }
  RankLoad load() const;  ///< of the plan
};

/// How often plans like the last one follow if no request comes, ends or is cut short.
constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

/// Queue, blocks and batches of a rank.
struct Rank {
  Rank(const RankTerms& terms, RequestTable& table, std::uint16_t index);

  const RankTerms* terms;
  RequestTable* table;
  std::uint16_t index;
  SlotQueue arrivals;  ///< not yet seen by the scheduler, by time
  SlotQueue waiting;   ///< seen, in the order of the rules
  BlockPool pool;
  std::vector<Lane> lanes;
  std::int64_t active = 0;    ///< begun and not yet known to have ended
  std::int64_t queued = 0;    ///< tokens that requests not begun have still to compute, answers too
  std::int64_t found = 0;     ///< tokens of prompts that the cache had
  std::int64_t promised = 0;  ///< blocks that requests begun need in all (TensorRT-LLM)
  std::int64_t prompt_blocks = 0;  ///< that requests hold whose prompts are not computed yet
  std::vector<Slot> late;          ///< ended; the scheduler does not know yet
  std::vector<PlanNote> notes;
  bool tokens_timed = false;  ///< somebody asks for gaps between tokens
  // Of the last plan:
  bool closed = false;            ///< nobody who comes is admitted before an answer ends
  std::int64_t alike = kForEver;  ///< as many plans like it follow
  // What rules remember:
  std::int64_t new_token_ratio = 0;  ///< SGLang, in units of 2^-32
  bool full = false;                 ///< SGLang batch_is_full
  bool shrunk = false;               ///< SGLang: some have ended since the last decode was planned
  std::int64_t held_back = 0;  ///< TensorRT-LLM: iterations that contexts have been kept waiting
  bool waits = false;          ///< TensorRT-LLM: they are in this plan
  bool hold = false;           ///< TensorRT-LLM: other ranks are waited for
  std::int64_t balance_waits = 0;    ///< TensorRT-LLM, of all ranks: iterations without balance
  std::int64_t balance_batches = 0;  ///< TensorRT-LLM, of all ranks: iterations to gather contexts
  bool all_generate = false;         ///< TensorRT-LLM: every rank has decodes

  RequestState& state(Slot slot) { return (*table)[slot]; }
  std::int64_t outstanding() const {
    return static_cast<std::int64_t>(arrivals.size() + waiting.size()) + active;
  }

  /// A new request; it can be seen from its time on.
  void submit(Slot slot);
  /// Those that have come by `horizon` are seen.
  void see(Time horizon);
  /// Tokens still to compute, answers too, as they were when the plan was made.
  std::int64_t to_compute() const;
  /// Blocks that requests begun will need beside those they hold.
  std::int64_t still_promised() const;
  /// Blocks it needs before its answer is complete.
  std::int64_t whole_blocks(const RequestState& state) const {
    return pool.blocks_of(state.input + state.output + terms->decodes.lookahead);
  }
  /// Its keys and values come with it, and its first token is made.
  static bool comes_computed(const RequestState& state) {
    return state.made > 0 && state.ready >= state.input;
  }
  /// Blocks that `tokens` tokens of it need beside those it holds.
  std::int64_t lacks(const RequestState& state, std::int64_t tokens) const {
    return std::max<std::int64_t>(pool.blocks_of(tokens) - state.blocks, 0);
  }
  /// It holds blocks for `tokens` tokens. @pre they are free
  void hold_blocks(RequestState& state, std::int64_t tokens);
  /// The head of the queue is begun: it holds what the cache has of it.
  Slot admit(Lane& lane, const PrefixHit& hit);
  /// Its next `tokens` tokens are part of the plan; blocks are taken. @pre they are free
  void add_chunk(Lane& lane, Slot slot, std::int64_t tokens);
  /// Its keys and values came with it: it decodes from this plan on.
  void add_decode(Lane& lane, Slot slot);
  /// Its prompt is computed and its first, or next, token made: it decodes from the next plan on.
  void start_decoding(Lane& lane, Slot slot);
  /// Its blocks are taken away; it waits at the head or the tail of the queue.
  void preempt(Lane& lane, Slot slot, bool to_head);
  /// Its answer is complete; a decode has left its sums. It keeps its blocks until release_late().
  void retire(Lane& lane, Slot slot);
  /// The scheduler knows who ended.
  void release_late();
  /// Nobody wants it any more, wherever it is.
  void cancel(Slot slot);
  /// Blocks for the next step of all decodes; where they run out, the last begun are preempted one by
  /// one, as vLLM does. False: some were.
  bool settle_decodes(Lane& lane);

 private:
  void join(Lane& lane, Slot slot, bool tell);
  void leave(Lane& lane, Slot slot);
  void unlist(Lane& lane, Slot slot);
};

}  // namespace flopcast::serving
