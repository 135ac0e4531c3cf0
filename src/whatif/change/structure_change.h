// Changes of structure, taken together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flopcast/parallel/schedule.h"

namespace flopcast::whatif {

/// What is changed; everything may be left empty.
struct StructureChange {
  std::optional<std::uint32_t> dp, pp, tp, cp, ep;
  std::optional<std::uint32_t> microbatches, chunks, layers;
  std::optional<ScheduleKind> schedule;
  std::optional<std::uint32_t> microbatch_size, hidden, ffn, heads, sequence;
  /// Layers of each stage whose forward runs again before their backward; 0: none.
  std::optional<std::uint32_t> recompute;
  bool scale_only = false;  ///< dp: copies of the recorded ranks, collectives replaced
  std::uint64_t seed = 0;   ///< of what is drawn from recorded spreads
  std::string on;           ///< a cluster that collectives are moved to; empty: none
};

/// One of its sizes: dp, layers.
using SizeField = std::optional<std::uint32_t> StructureChange::*;

/// Recomputation of every layer.
inline constexpr std::uint32_t kAllLayers = 0xffffffffu;

}  // namespace flopcast::whatif
