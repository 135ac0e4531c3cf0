// Layouts as tables of measurements label them, and as they were.
#pragma once

#include <string>

#include "flopcast/measured/serving.h"

namespace flopcast::measured {

/// Degrees as told; 0: not told.
struct LayoutLabels {
  unsigned tp = 0, attention_dp = 0, expert_tp = 0, ep = 0, pp = 0;
};
/// A layout, and how it was found where labels contradict each other (empty: as told).
struct ReadLayout {
  ServingLayout layout;
  std::string repaired;
};
/// The layout that was run at `point`, whose engine, model, date, lengths and users are known already.
ReadLayout layout_of(const LayoutLabels& labels, const ServingPoint& point);

}  // namespace flopcast::measured
