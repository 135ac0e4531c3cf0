// Stretches that were never recorded, cut out of those that were.
#pragma once

#include "whatif/structure/plan/new_plan.h"
#include "whatif/structure/plan/sizes.h"
#include "whatif/structure/recorded/library.h"

namespace flopcast::whatif::structure {

/// Backward stretches in two: gradients of inputs, and those of weights, for schedules that take
/// them apart. Of two matrix products of one backward operator the second is the weights': autograd
/// makes what others wait for first. Fills Library::halves.
void split_backward(const TraceSet& set, const replaying::Recording& recording, Library& library);

/// Backward stretches without the forward kernels that they run again.
void strip_recompute(const TraceModel& model, Library& library);

/// Without the collectives that have nobody to meet in the new run: tp 2 to 1.
void drop_lone_collectives(const NewPlan& plan, Library& library);

/// Replicas of a run that had one: a bucket of a layer's gradients, launched as the recorded
/// collective of a layer's backward is, on a stream of its own; the optimizer waits for it. Nothing
/// where no such collective was recorded, or shapes do not tell the parameters.
void make_bucket(const TraceSet& set, const replaying::Recording& recording, const NewPlan& plan,
                 Sizes& sizes, Library& library);

}  // namespace flopcast::whatif::structure
