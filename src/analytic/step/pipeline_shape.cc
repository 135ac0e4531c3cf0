#include "analytic/step/pipeline_shape.h"

#include <algorithm>

namespace flopcast::analytic {
namespace {

/// Where the value is in the list, which it joins if it is new.
template <typename Value>
std::uint32_t kind_of(std::vector<Value>& known, Value value) {
  const auto found = std::find(known.begin(), known.end(), value);
  const auto kind = static_cast<std::uint32_t>(found - known.begin());
  if (found == known.end()) known.push_back(std::move(value));
  return kind;
}

}  // namespace

bool is_folded(const Plan& plan) {
  return plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
}

unsigned stage_of(const Plan& plan, unsigned chip, unsigned chunk) {
  if (is_folded(plan)) return chunk == 0 ? chip : 2 * plan.pp - 1 - chip;
  return chip + chunk * plan.pp;
}

PipelineShape pipeline_shape(const Plan& plan, std::int64_t layers,
                             const std::vector<std::vector<std::uint32_t>>& layers_before) {
  PipelineShape shape;
  const std::vector<unsigned> split = layers_per_stage(plan, layers);
  unsigned from = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    PipelineShape::Stage stage{i == 0, i + 1 == split.size(), split[i], {}};
    for (const std::vector<std::uint32_t>& before : layers_before) {
      stage.of_kind.push_back(before[from + split[i]] - before[from]);
    }
    from += split[i];
    shape.stage_kinds.push_back(kind_of(shape.stages, std::move(stage)));
  }
  std::vector<std::vector<std::uint32_t>> held;
  for (unsigned chip = 0; chip < plan.pp; ++chip) {
    std::vector<std::uint32_t> stages;
    for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
      stages.push_back(shape.stage_kinds[stage_of(plan, chip, chunk)]);
    }
    shape.chip_kinds.push_back(kind_of(held, std::move(stages)));
    if (held.size() > shape.chips.size()) shape.chips.push_back(chip);
  }
  return shape;
}

}  // namespace flopcast::analytic
