// What the forward passes of a recording compute, as far as shapes tell it.
#pragma once

#include <cstdint>

#include "flopcast/hardware.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif::totals {

/// FLOPs are of one step, over all recorded ranks, without what is run again.
struct ForwardWork {
  double linear = 0, attention = 0;                      ///< products with weights; attention
  double linear_of_layers = 0, attention_of_layers = 0;  ///< of these, in what was found as layers
  double told = 0;  ///< share of the time of products and attention whose shapes are known
  DataType type = DataType::kBf16;  ///< what most products are computed in
  std::int64_t tokens = 0;          ///< of a microbatch on one rank; 0: shapes do not tell
  std::int64_t sequence = 0;        ///< tokens of a sequence on one rank; 0: no attention tells
  bool attends = false;             ///< attention was recorded, or layers were found
  bool trains = false;              ///< there is a backward pass
  bool mixed = false;               ///< backward kernels cannot be told from forward ones
};

/// Of the recording, without any change.
ForwardWork find_forward_work(const ChangedRun& recorded);

}  // namespace flopcast::whatif::totals
