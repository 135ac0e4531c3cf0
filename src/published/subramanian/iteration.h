// From one layer to one iteration: microbatches, pipeline, data parallelism, memory (section III-C
// and III-D).
//
//   base    = (t_f + t_b) m D + 2 m t_p2p        m microbatches, D layers of a stage
//   bubble  = (np - 1) base / m
//   t_dp    = ag + (D - 1) max(ag - t_f, 0)  +  rs + (D - 1) max(rs - t_b, 0)
//   memory  = 2 W D + 6 W D / replicas + A D min(np, m)
#pragma once

#include <optional>

#include "published/subramanian/layer.h"

namespace flopcast::published {

/// Why a plan cannot be estimated, or nothing.
std::optional<Diagnostic> refuse(const PaperCase& c);
std::optional<Diagnostic> refuse(std::int64_t gpus);
std::optional<Diagnostic> refuse(const PaperCase& c, const PaperPlan& plan);

LayerShape shape_of(const PaperModel& model, const PaperPlan& plan);

/// Bytes of one GPU.
struct Memory {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0;
  double total() const { return weights + gradients + optimizer + activations; }
};
Memory memory_of(const PaperCase& c, const PaperPlan::Groups& size, std::int64_t microbatches,
                 const LayerSums& sums);

/// What of a plan's iteration depends neither on its microbatch nor on its panels.
struct Schedule {
  double layers = 0;  ///< of one stage
  double stages = 0;
  CollectiveCost weights_exchange;  ///< of one layer's weights, one direction
  CollectiveCost stage_to_stage;
};
Schedule schedule_of(const PaperCase& c, const Rates& rates, const PaperPlan::Groups& size,
                     const PaperPlan::Groups& domain);

struct IterationTime {
  double layers = 0, pipeline_communication = 0, bubble = 0, data_communication = 0;
  double total() const { return layers + pipeline_communication + bubble + data_communication; }
};

/// @param exchange time to gather (or reduce and scatter) one layer's weights.
/// @param forward,backward time of one layer and microbatch.
inline IterationTime iteration_time(const Schedule& schedule, double microbatches, double boundary,
                                    double exchange, double forward, double backward) {
  const double rest = schedule.layers - 1;
  const auto late = [](double a, double b) { return a > b ? a - b : 0; };
  IterationTime time;
  time.layers = (forward + backward) * microbatches * schedule.layers;
  time.pipeline_communication = 2 * microbatches * schedule.stage_to_stage.time(boundary);
  time.bubble = (schedule.stages - 1) * (time.layers + time.pipeline_communication) / microbatches;
  time.data_communication =
      2 * exchange + rest * (late(exchange, forward) + late(exchange, backward));
  return time;
}

}  // namespace flopcast::published
