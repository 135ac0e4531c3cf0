// A recorded step in which every pass of a microbatch is one task (`flopcast estimate --engine
// graph`): no host, no kernels, no layers to see. What its tasks tell is what a step graph is made
// of, so that a changed one can be made and run.
//
//   read      durations of passes, messages and what is done once a step            read_step
//   told      what the recording says beside: degrees, layers of a stage, what a pass is made of,
//             whole transfers behind those that nothing hides                       told
//   parts     embedding, layers and head of every pass: told, or from what tells the ends from the
//             stages between them                                                   stage_parts
//   changed   the step of another plan                                              changed_step
//   run       that step as a recording with its dependencies                        step_run
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/network/collectives.h"
#include "flopcast/parallel/schedule.h"
#include "flopcast/whatif/model.h"

namespace flopcast::whatif::planned {

/// Seconds of one microbatch's passes.
struct PassTimes {
  double forward = 0;
  double input = 0;   ///< of the whole backward, where `weight` is 0
  double weight = 0;  ///< gradients of weights

  double backward() const { return input + weight; }
  PassTimes& operator+=(const PassTimes& o) {
    forward += o.forward, input += o.input, weight += o.weight;
    return *this;
  }
  PassTimes operator+(const PassTimes& o) const { return PassTimes(*this) += o; }
  PassTimes operator*(double k) const { return {forward * k, input * k, weight * k}; }
  PassTimes operator-(const PassTimes& o) const { return *this + o * -1; }
};

/// A virtual stage. Times in seconds.
struct Stage {
  PassTimes times;
  double send = 0;  ///< to the next stage, and gradients back from it; 0: on the same chip
  std::optional<std::uint32_t> layers;
  /// What its passes are made of; the host's part is of one microbatch.
  struct Parts {
    PassTimes embedding, layers, head, host;
    PassTimes sum() const { return embedding + layers + head + host; }
  };
  std::optional<Parts> parts;
};

/// A transfer of gradients or weights, what passes hide of it included.
struct WholeTransfer {
  CollectiveOp op = CollectiveOp::kReduceScatter;
  double bytes = 0;
  std::uint32_t ranks = 1;
  double time = 0;  ///< seconds
};

/// What a chip does once a step. Seconds; of transfers what nothing hides.
struct Chip {
  double gather = 0, reduce = 0, optimizer = 0;
  std::vector<WholeTransfer> gathers, reduces;  ///< empty: not told
  /// The optimizer's time by what its parameters are of: not told where all are 0.
  double of_embedding = 0, of_layers = 0, of_head = 0;
};

/// Degrees of the whole run: a recorded chip stands for tp x cp x dp.
struct Degrees {
  std::uint32_t tp = 1, cp = 1, ep = 1, dp = 1;
  std::uint32_t nodes = 1;
  double stragglers = 0;  ///< what waiting for the slowest node adds to every duration, a ratio
};

/// All of a step.
struct Step {
  Schedule schedule;
  std::vector<Stage> stages;  ///< virtual
  std::vector<Chip> chips;
  double fixed = 0;  ///< seconds, after the last optimizer
  std::optional<Degrees> degrees;
  /// Times of the gradients of weights are known.
  bool halves_known = false;

  /// Layers of the whole model; 0: not told.
  std::uint32_t layers() const;
};

/// Whether a recording is of planned steps alone.
bool is_planned(const TraceSet& set, const replaying::Recording& recording);

/// kNoAnswer: what is missing.
Result<Step> read_step(const TraceModel& model, const TraceSet& set,
                       const replaying::Recording& recording);

}  // namespace flopcast::whatif::planned
