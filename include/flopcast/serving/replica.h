// Floor 5: one engine: its queue, its blocks of keys and values, its batches; steps, and leaps over quiet stretches.
//
// The rules of each engine, with the file of the engine they follow, are in src/serving/schedule/ and
// docs/theory/serving.md. Leaps equal stepping bit for bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving.h"
#include "flopcast/serving/gaps.h"
#include "flopcast/serving/iteration.h"
#include "flopcast/serving/memory.h"

namespace flopcast {

/// A request as an engine gets it.
struct ReplicaRequest {
  std::uint32_t id = 0;     ///< the caller's
  std::int64_t input = 0;   ///< tokens of the prompt
  std::int64_t output = 1;  ///< tokens of the answer
  /// tokens of the prompt whose keys and values come with it (from a prefill pool); input: all, and
  /// its first token is made already
  std::int64_t ready = 0;
  /// chained hashes of the prompt's prefix blocks and their size in tokens; empty: shares nothing.
  /// Copied.
  std::span<const std::uint64_t> prefix{};
  std::int64_t prefix_block = 0;
  unsigned rank = ~0U;  ///< attention rank it belongs to; ~0U: the engine chooses
};

/// What happened to a request.
enum class ReplicaEventKind : std::uint8_t {
  kScheduled,   ///< its prompt began to be computed (the first time)
  kFirstToken,  ///< of a request whose prompt came with it: the first that is made here, its second
  kDone,
  kPreempted,  ///< its blocks were taken; it is computed again
};
/// One of them.
struct ReplicaEvent {
  Time at;
  std::uint32_t id = 0;
  ReplicaEventKind kind = ReplicaEventKind::kDone;
  bool operator==(const ReplicaEvent&) const = default;
};

/// One iteration, or a run of like ones, as timelines show it.
struct IterationSample {
  Time begin, end;                                            ///< of the first; of the last
  std::int64_t iterations = 1;                                ///< in the run
  std::int64_t decodes = 0, prefill_tokens = 0, waiting = 0;  ///< at its begin, all ranks
  std::int64_t blocks_used = 0;                               ///< of all ranks
};

/// Counts of what an engine did.
struct ReplicaCounts {
  std::int64_t iterations = 0, prefill_tokens = 0, decode_tokens = 0, preemptions = 0;
  std::int64_t prefix_tokens = 0;  ///< of prompts that were found in the cache
  std::int64_t leaps = 0;          ///< how many runs were summed in closed form
  Time busy;                       ///< time in iterations
  bool operator==(const ReplicaCounts&) const = default;
};

/// One replica. The model must outlive it.
class Replica {
 public:
  struct Options {
    bool leap = true;             ///< false: every iteration by itself; the same answers
    bool record_samples = false;  ///< keeps IterationSamples
    /// Counts, where given, the gap before every token but a request's first here: from when its clients could have
    /// the one before. Requests stalled by others' prompts or preempted have long ones; tokens of one step (drafts)
    /// come together and count once. Outlives the replica; may be shared by replicas.
    TokenGaps* gaps = nullptr;
  };
  Replica(const IterationModel& model, const Deployment& deployment, const ServingMemory& memory,
          const Options& options);

  /// The request can be scheduled from `at` on. Times of calls never fall. Errors (kTooLarge): it would
  /// never fit: longer than the model's longest, or than all blocks.
  std::optional<Diagnostic> submit(const ReplicaRequest& request, Time at);
  /// The least time up to which nothing new can happen but by submit(): the end of the iteration (or quiet run) under
  /// way. Time::max(): idle.
  Time next() const;
  /// Lets everything happen that ends at or before `until`; appends what happened to `events`, in order
  /// of time. Iterations that begin at or before `until` are begun.
  void advance(Time until, std::vector<ReplicaEvent>& events);
  /// Drops the request wherever it is (a client gave up, the replica dies).
  void cancel(std::uint32_t id);

  std::int64_t waiting() const;             ///< requests not yet begun
  std::int64_t running() const;             ///< requests begun
  std::int64_t blocks_used() const;         ///< as the last advance left them
  std::int64_t blocks() const;              ///< in all
  std::int64_t outstanding_tokens() const;  ///< prompt and answer tokens still to compute
  /// Tokens of the prompt that the prefix cache holds now: what a prefix-aware router asks.
  std::int64_t cached_tokens(std::span<const std::uint64_t> prefix,
                             std::int64_t prefix_block) const;
  const ReplicaCounts& counts() const;
  std::span<const IterationSample> samples() const;

  Replica(Replica&&) noexcept;
  Replica& operator=(Replica&&) noexcept;
  ~Replica();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
