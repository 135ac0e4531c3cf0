// Floor 5: from the time of one layer and microbatch to a step, and what a chip must hold for it.
//
//   published  step = layer f Ls n + sends,  f = 1 + (PP - 1) / (n max(Ls - 1, 1))
//   full       step = (n + PP - 1) stage + (PP - 1) send + exposed gradients + optimiser (1F1B)
//
// n microbatches pass PP stages of Ls layers. Worked number (published): GPT3-1T on 8 x 128 SN30
// chips, layer 24,525,757.63 ns, n = 3072, PP = 128, Ls = 1, sends 536,870,912 ns: 78.99477 s.
#pragma once

#include <limits>

#include "mapping/partition/program_builder.h"

namespace flopcast::mapping {

/// One layer and one microbatch on one chip.
struct LayerTime {
  double forward_s = 0, backward_s = 0;
  double time_s() const { return forward_s + backward_s; }
};

class StepModel {
 public:
  explicit StepModel(const ProgramCase& of);

  /// All but the partitions of a mapping whose layer takes this long.
  void fill(const LayerTime& layer, double live_bytes, Mapping& mapping) const;
  double step_s(const LayerTime& layer) const;
  /// What DRAM has left for tensors that cross cuts; negative: not even the rest fits.
  double live_room() const;
  MappingMemory memory(double live_bytes) const;

 private:
  double stage_s(const LayerTime& layer) const;
  double exposed_gradients_s(const LayerTime& layer) const;
  double stash_bytes() const;

  const ProgramCase& of_;
  double layers_ = 1, microbatches_ = 1, stages_ = 1;
  double weight_bytes_ = 0, gradient_bytes_ = 0;  ///< of a chip and layer
  double parameters_ = 0;
  double gradients_s_ = 0, optimizer_s_ = 0, published_send_s_ = 0, microbatch_send_s_ = 0;
};

}  // namespace flopcast::mapping
