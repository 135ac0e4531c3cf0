// What was recorded of the operators behind a library's tasks.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flopcast/cost/operators.h"
#include "whatif/structure/recorded/library.h"

namespace flopcast::whatif::structure {

/// An operator as it was recorded.
struct TaskShape {
  std::string_view operation, kernel;
  std::vector<OperatorInput> inputs;
  std::optional<Kernel> known;  // product or attention
  std::int64_t sequence = kNoId;
};

/// By stretch and task.
class TaskShapes {
 public:
  TaskShapes(const TraceSet& set, const replaying::Recording& recording, const TraceModel& model,
             const Library& library);

  const std::vector<TaskShape>& operator[](std::size_t stretch) const { return shapes_[stretch]; }
  /// Stretch and task of the forward that a gradient without shapes of its own belongs to.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> forward_of(std::uint32_t s,
                                                                    std::uint32_t i) const;

 private:
  std::uint32_t operator_of(const RowRef& task) const;
  const std::unordered_map<std::uint32_t, std::uint32_t>& call_of_row(std::uint32_t r) const;
  TaskShape shape_of(const RowRef& row) const;
  std::int64_t sequence_of(const RowRef& row) const;
  void index_forward(const TraceModel& model);

  const TraceSet& set_;
  const replaying::Recording& rec_;
  const Library& library_;
  std::vector<std::vector<std::uint32_t>> parents_;
  mutable std::map<std::uint32_t, std::unordered_map<std::uint32_t, std::uint32_t>> calls_;
  std::vector<std::vector<TaskShape>> shapes_;  // [stretch][task]
  /// by rank and autograd number: stretch and task
  std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<std::uint32_t, std::uint32_t>>
      forward_;
};

}  // namespace flopcast::whatif::structure
