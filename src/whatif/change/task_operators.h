// Which operator launched a GPU task, and what it was given.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "flopcast/cost/operators.h"
#include "flopcast/replay/recording.h"

namespace flopcast::whatif {

/// Of one rank. A task whose launch has no operator around it (its launch came before the window)
/// counts as launched by that of an equal one: same kernel, same blocks and threads.
class TaskOperators {
 public:
  TaskOperators(const TraceSet& set, const replaying::RankModel& rank);

  /// The row of the operator; kNoIndex where nothing tells.
  std::uint32_t row(std::uint32_t task) const { return row_[task]; }
  /// What the recording tells of a task; views into the recording and into this.
  RecordedKernel kernel(std::uint32_t task) const;

 private:
  const TraceSet& set_;
  const replaying::RankModel& rank_;
  std::vector<std::uint32_t> row_;                  // of each task
  std::vector<std::uint32_t> shapes_;               // of each task: index into inputs_
  std::vector<std::vector<OperatorInput>> inputs_;  // the first is of what nothing is known
};

/// What tells a launch from others: kernel, blocks, threads; of copies and sets the bytes.
using LaunchShape = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
LaunchShape launch_shape_of(const Trace& trace, std::uint32_t row);

}  // namespace flopcast::whatif
