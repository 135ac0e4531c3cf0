// The normal distribution.
#pragma once

namespace flopcast {

/// Share below `x`, in standard deviations from the mean.
double normal_share(double x);
/// Its inverse. @pre 0 < share < 1
double normal_quantile(double share);

}  // namespace flopcast
