// Floor 6: what-if: a recording, changed, and run again.
//
// A recording is read and made a graph once (WhatIf::open); every question changes a copy of what
// that graph is made of, and runs it. Both sides of an answer are runs with recorded lags, so a
// question that changes nothing gets the replay back, bit for bit.
//
// Three tiers, by what changes (docs/theory/whatif.md):
//   durations  scale, remove host/profiler/straggler/data-loading/launches, kernels_from, chip, on
//   order      remove overlap, add overlap, add fuse, add/remove recompute
//   structure  set dp, pp, tp, cp, ep, microbatches, schedule, chunks, layers, hidden, ...: a new
//              run emitted from the TraceModel (flopcast/whatif/model.h)
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flopcast/replay.h"

namespace flopcast {

/// Something made k times as long: what ("kernel:gemm", "kernel:/regex/", "collective:all_reduce",
/// "network:tier1", "host", "rank:3") and k.
struct ScaleChange {
  std::string what;   ///< as the user wrote it
  double factor = 1;  ///< of its time; > 0
  std::string words =
      {};  ///< that it was read from, where these say more than the number: "2x faster"
};

/// What is asked: every field may be left empty. Changes are applied structure first, then order,
/// then durations; within a list in the order given.
struct WhatIfChanges {
  /// "dp", "pp", "tp", "cp", "ep", "microbatches", "microbatch_size", "schedule", "chunks",
  /// "layers", "hidden", "ffn", "heads", "sequence", "tokens", and their new value as written.
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<ScaleChange> scale;      ///< durations times k
  std::vector<std::string> remove;     ///< "profiler", "straggler[:RANK]", "data-loading", "host",
                                       ///< "launches", "overlap", "recompute"
  std::vector<std::string> add;        ///< "overlap[:OP]", "recompute[:LAYERS]", "fuse:REGEX"
  std::filesystem::path kernels_from;  ///< durations of kernels from this recording
  std::string chip;                    ///< kernels on this chip of the catalogue
  std::string on;                      ///< collectives on this cluster
  bool scale_only = false;             ///< dp: collectives replaced alone (TraceSim's scale-up)
  /// Not a change: the steps that are judged, "ProfilerStep#12" or "12"; empty: all.
  std::vector<std::string> steps;
  bool empty() const;  ///< nothing is changed
};

/// One thing that can be changed: a row of the table that errors and help are made of.
struct WhatIfKnob {
  std::string option;    ///< "set", "scale", "remove", "add", "kernels-from", "chip", "on"
  std::string name;      ///< "dp", "kernel"; empty where the option has one meaning
  std::string argument;  ///< "N", "CLASS|NAME|/REGEX/"; in brackets where it may be left out
  std::string help;      ///< what it does, in a line
};
/// All of them, by option.
std::vector<WhatIfKnob> whatif_knobs();

/// What part of an answer rests on what.
struct WhatIfNote {
  std::string what;         ///< "kernels of layer 2 (median of 8 copies)"
  std::string how;          ///< "copied", "modelled", "assumed"
  std::uint64_t tasks = 0;  ///< how many tasks; 0 where that says nothing
  double share = 0;         ///< of the GPU time after the change, 0..1; 0 where that says nothing
};

/// A change that cannot be answered from this recording.
struct WhatIfRefusal {
  std::string change;   ///< "set layers=8"
  std::string missing;  ///< the evidence that is missing, and what would bring it
};

/// What one change is worth.
struct WhatIfCause {
  std::string change;  ///< "remove profiler"
  /// Added to the step when put after the changes before it. Nothing is added where that is no plan
  /// without a later change, which then has both.
  Time forwards;
  /// Added when put last of all; nothing if the others alone are no plan.
  std::optional<Time> backwards;
};

/// A band, and what it is made of: each source's half widths, put together as independent.
struct WhatIfBand {
  Time low, high;  ///< of the step after: 10 % and 90 %
  /// One source of doubt.
  struct Source {
    std::string what;   ///< "host durations from step to step"
    Time below, above;  ///< how far the step may lie from the answer for its sake
  };
  std::vector<Source> sources;  ///< widest first
};

/// A step before and after: means over ranks.
struct WhatIfStep {
  std::string name;              ///< "ProfilerStep#11"
  Time before_gpu, after_gpu;    ///< GPU steps
  Time before_host, after_host;  ///< of the annotation
};

/// Where the time of a step goes on the mean rank, before and after.
struct WhatIfPart {
  /// "gemm", "attention", "other_kernels", "copies", "transfer" and "waiting" (of communication that no kernel
  /// hides: once all ranks are there; before), "idle"
  std::string part;
  Time before, after;  ///< adds up to the GPU step
};

/// One side of an answer as timelines: a run told back to rows.
struct WhatIfRun {
  std::shared_ptr<const TraceSet> set;  ///< the recording, or the emitted run's own rows
  Replay replay;                        ///< of `set`
};

/// What a recording does not tell of its run. Totals need it; no time depends on it.
struct WhatIfFacts {
  std::string model;                     ///< that ran, as load_model takes it; empty: not known
  std::optional<double> tokens;          ///< of a recorded step, all ranks; else shapes tell
  std::optional<std::int64_t> sequence;  ///< tokens of a sequence; else shapes of attention tell
  double usd_per_chip_hour = 0;          ///< 0: not known
};

/// What a run comes to beside its time. What nothing tells is missing, never guessed.
struct WhatIfTotals {
  std::optional<double> tokens_per_step;         ///< of the whole run
  std::optional<double> tokens_per_s;            ///< likewise
  std::optional<double> mfu;                     ///< model FLOPs over the GPUs' dense peak, 0..1
  std::optional<double> memory_bytes;            ///< of the fullest rank
  std::optional<double> energy_j;                ///< of a step, all GPUs
  std::optional<double> cost_usd;                ///< likewise
  std::optional<double> usd_per_million_tokens;  ///< cost over tokens
  std::string basis;                             ///< what they rest on
  /// One of them, and what would tell it.
  struct Missing {
    std::string total;  ///< "mfu": the field's name
    std::string why;    ///< "the recording names no GPU of the catalogue"
  };
  std::vector<Missing> missing;  ///< in the order of the fields
};

/// What becomes of the run.
struct WhatIfAnswer {
  WhatIfChanges changes;                            ///< as asked
  std::vector<WhatIfRefusal> refused;               ///< not empty: there is no answer
  std::uint32_t ranks_before = 0, ranks_after = 0;  ///< of the run
  /// GPU step: the mean over ranks, and over the steps within a quarter of their median; the first
  /// step, which begins with the host's, is left out where there are others and none is named.
  Time before, after;
  Time host_before, host_after;     ///< host step, likewise
  WhatIfBand band;                  ///< of `after`
  std::vector<WhatIfStep> steps;    ///< in order; one, of the emitted run, where structure changed
  std::vector<WhatIfCause> causes;  ///< in the order applied; empty for a single change
  std::vector<WhatIfPart> parts;    ///< of the step
  std::vector<WhatIfNote> notes;    ///< what is copied, modelled, assumed
  std::string caution;              ///< why the step's change is not what it seems; mostly empty
  WhatIfTotals totals_before, totals;  ///< of the recorded run; of the run after
};

/// One row of a sensitivity: a part of the run, and what it is worth.
struct WhatIfSensitivity {
  std::string part;  ///< "kernel:gemm", "collective:all_reduce", "network", "host", "rank:3"
  Time work;         ///< of it in a step, summed over ranks
  std::optional<Time> less;   ///< the step with 10 % less of it; nothing: that run cannot finish
  std::optional<Time> limit;  ///< the step if it cost nothing
  std::string caution;        ///< why the step does not simply get shorter; mostly empty
};

/// A recording, read and made a graph, to which questions are put. Const calls may be made from
/// several threads.
class WhatIf {
 public:
  /// Reads and prepares. kBadInput where nothing could be run; damage is told by every answer's
  /// refusals, not here. @param paths as of read_traces.
  static Result<WhatIf> open(const std::vector<std::filesystem::path>& paths,
                             const ReadOptions& options = {}, const std::string& prefix = "");
  /// The same of a recording that was read already.
  static Result<WhatIf> of(std::shared_ptr<const TraceSet> set, unsigned threads = 0);

  /// What is known of the run beside its recording: totals of all later answers rest on it. Errors:
  /// those of load_model; kUsage for what is below 0.
  std::optional<Diagnostic> tell(const WhatIfFacts& facts);

  /// The answer; kUsage for a change that does not exist or is written wrongly. A change that the
  /// recording gives no evidence for is no error: see WhatIfAnswer::refused.
  Result<WhatIfAnswer> ask(const WhatIfChanges& changes) const;
  /// Both timelines of a question: before and after. As `ask`; kNoAnswer where it is refused.
  Result<std::pair<WhatIfRun, WhatIfRun>> runs(const WhatIfChanges& changes) const;
  /// Every part of the run with 10 % less of it, and with none; most gain by the limit first.
  Result<std::vector<WhatIfSensitivity>> sensitivity() const;
  /// The same of the parts of the work alone, all ranks together, and of the ranks that the others wait for made
  /// like their equals: what reports of a replay tell. kNoAnswer where the recording is damaged or has no GPU step.
  Result<SensitivityTable> worth() const;

  std::vector<std::uint32_t> stages() const;       ///< as Replay::stages
  const TraceSet& set() const;                     ///< what was read
  const std::vector<std::string>& damage() const;  ///< why nothing can be forecast; empty if it can

  WhatIf(WhatIf&&) noexcept;             ///< takes over
  WhatIf& operator=(WhatIf&&) noexcept;  ///< takes over
  ~WhatIf();                             ///< frees

 private:
  struct Prepared;
  explicit WhatIf(std::unique_ptr<Prepared> prepared);
  std::unique_ptr<Prepared> prepared_;
};

/// Fills in Replay::sensitivity of a replay of `set`, or why there is none: the recording itself is asked, so that a
/// replay of anything else (a model of the literature, a network, another step's structure) has none. @param options
/// those of the replay
void tell_worth(const TraceSet& set, const ReplayOptions& options, Replay& replay);

}  // namespace flopcast
