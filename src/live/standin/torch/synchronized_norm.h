// Batch normalisation over the batches of several ranks: the operators that SyncBatchNorm is made of, which PyTorch has for
// GPUs alone. Statistics are of channels, the second dimension.
#pragma once

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// aten::batch_norm_stats: mean and inverse deviation of this rank's batch.
Values batch_norm_stats(const Call&, const Values& in, const Values&);
/// aten::batch_norm_gather_stats_with_counts: those of all ranks' batches; running ones are updated in place.
Values batch_norm_gather_stats(const Call&, const Values& in, const Values&);
/// aten::batch_norm_elemt: the normalised batch.
Values batch_norm_elements(const Call&, const Values& in, const Values&);
/// aten::batch_norm_backward_reduce: sums of this rank's gradients.
Values batch_norm_backward_reduce(const Call&, const Values& in, const Values&);
/// aten::batch_norm_backward_elemt: gradients of the batch, by sums of all ranks.
Values batch_norm_backward_elements(const Call&, const Values& in, const Values&);

}  // namespace flopcast::plugin
