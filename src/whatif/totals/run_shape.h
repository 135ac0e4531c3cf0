// How large a run is: GPUs, degrees, tokens of a step. Of the recording, and after a question's
// changes of structure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "whatif/change/change.h"
#include "whatif/totals/forward_work.h"

namespace flopcast::whatif::totals {

/// See the head of this file. Counts are doubles where a factor may make them broken.
struct RunShape {
  double gpus = 1;  ///< of the whole run, recorded or not
  double dp = 1, pp = 1, tp = 1, cp = 1, ep = 1, microbatches = 1, chunks = 1;
  double layers = 0;     ///< of the whole model; 0: not found
  std::string schedule;  ///< as ScheduleKind is called; empty: one stage, or not known
  double hidden = 0, ffn = 0, heads = 0;  ///< where they were set; 0: as recorded
  std::optional<double> tokens;           ///< of a step, all replicas
  std::optional<double> sequence;         ///< tokens of a sequence
  std::string no_tokens, no_sequence;     ///< why they are missing
  std::optional<double> more = 1;  ///< tokens of a step, over the recorded; nothing: not known
  bool recompute = false;
  double recompute_layers = 0;  ///< of each stage; 0: all

  /// Sequences of a step, all replicas.
  std::optional<double> sequences() const;
  /// Sequences of a microbatch; nothing unless whole.
  std::optional<std::int64_t> micro_batch() const;
};

/// As recorded. @param ranks that were recorded
RunShape recorded_shape(const TraceModel& model, const ForwardWork& work, const WhatIfFacts& facts,
                        std::size_t ranks);
/// With the changes made. What no change names stays.
RunShape changed_shape(const RunShape& recorded, const std::vector<Change>& changes);

}  // namespace flopcast::whatif::totals
