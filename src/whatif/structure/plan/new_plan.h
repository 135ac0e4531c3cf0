// What the new run is: degrees, schedule, layers of each part of the model.
#pragma once

#include "flopcast/whatif.h"
#include "flopcast/whatif/model.h"
#include "whatif/change/structure_change.h"
#include "whatif/structure/recorded/ranks.h"

namespace flopcast::whatif::structure {

/// How stages pass on activations and gradients.
enum class MessageStyle : std::uint8_t {
  /// One kernel with one neighbour at a time, what goes there and what comes from there; the next
  /// pass waits for it (Megatron's send_forward_recv_backward).
  kExchange,
  /// Sent without waiting; received just before the pass that needs it.
  kMessages
};

/// See the head of this file.
struct NewPlan {
  RankGrid before, grid;  ///< recorded; new
  Schedule schedule;      ///< of all stages
  MessageStyle style = MessageStyle::kExchange;
  bool recorded_order = false;           ///< schedule.actions are as recorded
  std::uint32_t layers = 0;              ///< of the whole model; 0: unknown and unchanged
  std::vector<std::uint32_t> layers_of;  ///< [virtual stage]
  std::uint32_t recompute = 0;           ///< layers of each virtual stage, where changed
  bool recompute_changed = false;

  std::uint32_t parts() const { return schedule.stages(); }
  /// Number of a virtual stage's first layer in the whole model.
  std::uint32_t first_layer(std::uint32_t part) const;
};

/// @param grid of the recorded ranks
Result<NewPlan> make_new_plan(const TraceModel& model, const RankGrid& grid,
                              const StructureChange& change);

}  // namespace flopcast::whatif::structure
