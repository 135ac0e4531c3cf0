// How much more or less work kernels and collectives have when the model's sizes change: its width,
// its tokens, the shards a layer is cut into.
//
// Dimensions get roles by where they stand in a layer's forward: the first product takes the width of
// the model; those before attention make its heads, the first after it puts them together; the last
// ones are the feed-forward part. A backward product has the dimensions of a forward one in another
// order, so that its work has the same roles. What is bound by memory goes by its last dimension and
// the tokens; attention by the square of the sequence; optimizer and gradients by parameters.
//
//   forward of a layer, tp 2: [2048 x 4096] x [4096 x 6144]   tokens, hidden, heads
//   hidden 4096 -> 8192, heads kept:                          twice the work
#pragma once

#include "whatif/structure/plan/new_plan.h"
#include "whatif/structure/recorded/library.h"

namespace flopcast::whatif::structure {

/// By stretch and task: what the new run's work is as a multiple of the recorded.
struct Sizes {
  std::vector<std::vector<double>> time;   ///< of kernels: their time
  std::vector<std::vector<double>> bytes;  ///< of collectives
  double parameters = 1;                   ///< of a layer, on one rank
  double layer_bytes = 0;  ///< of a layer's parameters on one rank; 0 where nobody asked
  bool changed = false;    ///< anything but 1
  std::string chip;        ///< whose fits gave the ratios of products; empty: proportional to work
  std::string assumed;     ///< what was taken for granted; empty: nothing
};

/// kNoAnswer: the shapes that a change of size needs were not recorded.
Result<Sizes> find_sizes(const TraceSet& set, const replaying::Recording& recording,
                         const TraceModel& model, const Library& library, const NewPlan& plan,
                         const StructureChange& change);

}  // namespace flopcast::whatif::structure
