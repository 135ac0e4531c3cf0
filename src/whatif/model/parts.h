// Which layers each part of the model holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "whatif/model/layers.h"
#include "whatif/model/pipeline.h"

namespace flopcast::whatif {

/// The forward of one part of the model: what a stage runs of it for a microbatch.
struct PartCut {
  std::vector<std::uint32_t> tokens;  ///< of its forward, at the level of the finding
  std::vector<LayerSpan> layers;      ///< in tokens
  std::uint32_t first_layer = 0;      ///< in the whole model
  bool recorded = false;
};

struct LayerPlan {
  Level level = Level::kKernel;
  std::vector<PartCut> parts;
  std::vector<std::vector<std::uint32_t>> units;  ///< token lists of single layers, longest first
  std::uint32_t layers = 0;                       ///< of the whole model, 0: unknown
  /// Where launches order nothing: device and number of the stream that layers were looked for in.
  std::optional<std::pair<std::int32_t, std::int32_t>> stream;
  std::uint32_t repeats = 1;  ///< a forward holds the model so often
  std::string evidence;
};

LayerPlan plan_layers(const TraceSet& set, const replaying::Recording& recording,
                      const NameFacts& facts, const std::vector<Program>& programs,
                      const std::vector<Passes>& passes, const Pipeline& pipeline);

}  // namespace flopcast::whatif
