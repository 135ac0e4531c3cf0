// What a step's trace says of the run it stands for, as annotations.
#pragma once

#include <string>
#include <vector>

#include "flopcast/analytic/graph.h"

namespace flopcast::analytic {

/// A span of time on a line of a chip, with what it says.
struct FactSpan {
  Time start, duration;
  std::string text;
};

/// "plan: tp 8, cp 1, ep 1, dp 32; nodes 128, stragglers 4.2 %"
std::string plan_text(const StepFacts& facts);

/// Of a chip's task that runs from `start` on, what it is made of. Nothing for tasks of later
/// microbatches, and for those that are told apart no further.
std::vector<FactSpan> spans_inside(const StepFacts& facts, unsigned chip, std::string_view task,
                                   Time start, Time duration);

/// Whole transfers behind what is left over of them: from where they begin (weights) or to where
/// they end (gradients).
std::vector<FactSpan> spans_around(const StepFacts& facts, unsigned chip, std::string_view task,
                                   Time start, Time duration);

}  // namespace flopcast::analytic
