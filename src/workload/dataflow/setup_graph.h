// The kernels and connections of a setup file.
#pragma once

#include <cstdint>

#include "flopcast/workload/dataflow.h"
#include "workload/dataflow/names.h"
#include "workload/dataflow/setup_fields.h"

namespace flopcast::workload::dataflow {

/// What the rest of the file says about its kernels.
struct SetupRun {
  enum Kind : std::uint8_t { kOther, kLlm, kDlrm, kHpl, kFft };
  Kind kind = kOther;
  std::int64_t tokens = 1;
  double chips = 1;            ///< of the system
  double tensor_parallel = 1;  ///< chips that share one replica's tensors
};

/// Fills the graph and the pins. A kernel's output is one tensor for all that read it. As the files
/// mean them: memory_size is one chip's; an all-to-all of a recommendation model is the message of
/// one pair of chips, all others are totals; element-wise kernels on the systolic array do 2 FLOP an
/// element.
void read_setup_graph(SetupFields& fields, const SetupRun& run, DfmodelSetup& setup);

}  // namespace flopcast::workload::dataflow
