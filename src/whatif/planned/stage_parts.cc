#include "whatif/planned/stage_parts.h"

#include <algorithm>
#include <cmath>

namespace flopcast::whatif::planned {
namespace {

/// Stages between the ends that differ by more than this do not hold the same layers.
constexpr double kAlike = 0.002;
/// So much below those between, an end holds fewer layers.
constexpr double kFewer = 0.02;

double whole(const PassTimes& times) { return times.forward + times.backward(); }

Diagnostic untold(std::string why) {
  return {ErrorCode::kNoAnswer, "structure",
          "every pass is one task, and its layers cannot be told from embedding and head: " +
              std::move(why),
          "record the step anew: `flopcast estimate --engine graph --trace-out` tells them"};
}

ModelParts told_parts(const Step& step) {
  ModelParts out;
  out.told = true;
  out.layers = step.layers();
  for (const Stage& stage : step.stages) {
    out.embedding += stage.parts->embedding;
    out.head += stage.parts->head;
    out.layer += stage.parts->layers * (1 / out.layers);
    out.host += stage.parts->host * (1.0 / step.schedule.chips);
  }
  for (const Chip& chip : step.chips) {
    out.of_embedding += chip.of_embedding;
    out.of_head += chip.of_head;
    out.of_layer += chip.of_layers / out.layers;
  }
  return out;
}

/// The stages between the ends are layers alone, and the ends have as many.
Result<ModelParts> compared_parts(const Step& step) {
  if (step.schedule.chips < 3) return untold("there are fewer than three stages to compare");
  if (step.schedule.v_shaped()) return untold("one chip holds both ends of the model");
  const std::size_t last = step.stages.size() - 1;
  const Stage& between = step.stages[1];
  const double usual = whole(between.times);
  for (std::size_t s = 1; s < last; ++s) {
    if (std::abs(whole(step.stages[s].times) - usual) > kAlike * usual) {
      return untold("the stages between the ends differ");
    }
  }
  ModelParts out;
  out.layer = between.times;
  out.layers = static_cast<double>(step.stages.size());
  out.embedding = step.stages.front().times - between.times;
  out.head = step.stages.back().times - between.times;
  if (whole(out.embedding) < -kFewer * usual || whole(out.head) < -kFewer * usual) {
    return untold("the first or the last stage holds fewer layers than the others");
  }
  const double optimizer = step.chips[1].optimizer;
  out.of_layer = optimizer / step.schedule.chunks;
  out.of_embedding = std::max(0.0, step.chips.front().optimizer - optimizer);
  out.of_head = std::max(0.0, step.chips.back().optimizer - optimizer);
  return out;
}

}  // namespace

Result<ModelParts> find_parts(const Step& step) {
  return step.layers() > 0 ? told_parts(step) : compared_parts(step);
}

}  // namespace flopcast::whatif::planned
