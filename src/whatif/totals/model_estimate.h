// The analytic estimate of a run whose model is known: what its memory and its FLOPs are taken from.
// Its time is not: that is the recording's.
#pragma once

#include "flopcast/analytic.h"
#include "whatif/totals/run_shape.h"

namespace flopcast::whatif::totals {

/// What the recording tells of a training beside its shape.
struct Training {
  DataType type = DataType::kBf16;  ///< what products are computed in
  OptimizerKind optimizer = OptimizerKind::kAdam;
  Zero zero = Zero::kNone;
  bool sequence_parallel = false;
};
Training find_training(const ChangedRun& recorded, DataType type);

/// The model with the shape's layers, widths and heads; kNoAnswer where it has none such.
Result<Model> resized(const Model& model, const RunShape& shape);

/// kNoAnswer: the shape lacks something, or no such plan can run; why.
Result<TrainingEstimate> estimate_of(const Model& model, const RunShape& shape,
                                     const Training& training, const Chip& chip);

}  // namespace flopcast::whatif::totals
