// Which layer each work of a pass belongs to.
#pragma once

#include <optional>
#include <vector>

#include "whatif/model/parts.h"

namespace flopcast::whatif {

/// Of a work in a pass: the layer of its part, counted from 0; before or after the layers.
inline constexpr std::int32_t kBeforeLayers = -1;
inline constexpr std::int32_t kAfterLayers = 1 << 30;

/// One label a work of every pass; none where the pass could not be cut. Indexed as the stretches.
using PassLabels = std::vector<std::optional<std::vector<std::int32_t>>>;
PassLabels label_passes(const replaying::RankModel& model, const Program& program,
                        const Passes& passes, const LayerPlan& plan, const Pipeline& pipeline,
                        std::uint32_t rank);

}  // namespace flopcast::whatif
