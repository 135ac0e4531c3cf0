// Floor 2, private to forecasts: a measured curve on a machine with other numbers than it was taken on.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "network/collective/shape.h"

namespace flopcast::network {

/// By the closed form that measurements are moved with: NCCL's where it runs, else the fastest textbook algorithm.
/// Nothing where neither knows the operation.
std::optional<Seconds> form_time(const Cluster& cluster, const GroupShape& shape, CollectiveOp op,
                                 Bytes size);

/// What a message of that many bytes takes as measured; by a form, nothing where it does not know.
using MeasuredTime = std::function<Seconds(Bytes)>;
using FormTime = std::function<std::optional<Seconds>(Bytes)>;

/// Measured times the closed form's time on the machine that is asked for over its time on the one that was
/// measured. That ratio falls with size where it is latency that has grown, faster than what was measured rises: as no
/// machine takes longer over fewer bytes, a message takes at least what each smaller one does.
///
/// Found at kept sizes once. A time there never falls with size, rises with every number that the closed form rises with,
/// and is what was measured where the closed forms agree; so is one between them (factor).
class MovedCurve {
 public:
  /// @param measured positive, and does not fall with size
  MovedCurve(const MeasuredTime& measured, const FormTime& before, const FormTime& after);
  /// What `measured`, the time of a message of this size, is multiplied by.
  double factor(Bytes size, Seconds measured) const;

 private:
  struct Knot {
    double log2_size = 0, log_time = 0;  ///< log_time: as measured
    double log_factor = 0;
  };
  std::vector<Knot> knots_;  ///< sizes ascending from a byte
};

}  // namespace flopcast::network
