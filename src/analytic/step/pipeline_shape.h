// What is alike in a pipeline: virtual stages of the same layers, chips that hold the same stages.
// Most pipelines have a few kinds of each (the first, the last, those between), so what is worked
// out for one of a kind holds for all.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/parallel.h"

namespace flopcast::analytic {

struct PipelineShape {
  struct Stage {
    bool first = false, last = false;  ///< holds the embedding, the head
    unsigned layers = 0;
    std::vector<std::uint32_t> of_kind;  ///< layers of each of Model::kinds
    bool operator==(const Stage&) const = default;
  };
  std::vector<Stage> stages;               ///< different ones
  std::vector<std::uint32_t> stage_kinds;  ///< of each virtual stage: which of `stages`
  std::vector<unsigned> chips;             ///< different ones: the first of each kind
  std::vector<std::uint32_t> chip_kinds;   ///< of each chip: which of `chips`

  const Stage& stage(unsigned index) const { return stages[stage_kinds[index]]; }
};

/// @param layers_before [kind][i]: layers of this kind among the first i.
PipelineShape pipeline_shape(const Plan& plan, std::int64_t layers,
                             const std::vector<std::vector<std::uint32_t>>& layers_before);

/// Whether the second chunks go back through the chips.
bool is_folded(const Plan& plan);
/// Virtual stage of a chip's chunk (Schedule::stage_of without a schedule).
unsigned stage_of(const Plan& plan, unsigned chip, unsigned chunk);

}  // namespace flopcast::analytic
