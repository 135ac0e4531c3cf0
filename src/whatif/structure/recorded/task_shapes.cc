#include "whatif/structure/recorded/task_shapes.h"

#include <algorithm>

#include "whatif/change/parent_rows.h"

namespace flopcast::whatif::structure {

using replaying::kNoIndex;

TaskShapes::TaskShapes(const TraceSet& set, const replaying::Recording& recording,
                       const TraceModel& model, const Library& library)
    : set_(set), rec_(recording), library_(library) {
  for (const auto& rank : rec_.ranks) parents_.push_back(parent_rows(*rank.trace));
  for (const Stretch& stretch : library_.stretches) {
    std::vector<TaskShape>& shapes = shapes_.emplace_back();
    for (const StretchTask& task : stretch.tasks) shapes.push_back(shape_of(task.row));
  }
  index_forward(model);
}

std::uint32_t TaskShapes::operator_of(const RowRef& task) const {
  const auto& rank = rec_.ranks[task.rank];
  const auto& launched = call_of_row(task.rank);
  const auto call = launched.find(task.row);
  return call == launched.end() ? kNoIndex : rank.calls[call->second].op;
}
const std::unordered_map<std::uint32_t, std::uint32_t>& TaskShapes::call_of_row(
    std::uint32_t r) const {
  auto& known = calls_[r];
  if (known.empty()) {
    for (const auto& task : rec_.ranks[r].gpu) {
      if (task.call != kNoIndex) known[task.row] = task.call;
    }
  }
  return known;
}

/// By the nearest operator around the launch that tells its inputs.
TaskShape TaskShapes::shape_of(const RowRef& row) const {
  const Trace& trace = *rec_.ranks[row.rank].trace;
  TaskShape out;
  out.kernel = set_.strings[trace.events.name[row.row]];
  for (std::uint32_t op = operator_of(row); op != kNoIndex; op = parents_[row.rank][op]) {
    const std::uint32_t detail = trace.events.detail[op];
    if (trace.events.category[op] != Category::kCpuOp || detail == kNoDetail) continue;
    const OpDetail& d = trace.ops[detail];
    if (out.sequence == kNoId && d.sequence_number > 0) out.sequence = d.sequence_number;
    if (!out.inputs.empty()) continue;
    const std::string_view name = set_.strings[trace.events.name[op]];
    std::vector<OperatorInput> inputs =
        operator_inputs(set_.strings[d.input_dims], set_.strings[d.input_types]);
    const bool told = std::any_of(inputs.begin(), inputs.end(),
                                  [](const OperatorInput& i) { return !i.size.empty(); });
    if (!told) continue;
    out.operation = name;
    out.inputs = std::move(inputs);
    out.known = operator_kernel(out.operation, out.inputs, out.kernel);
  }
  return out;
}

std::int64_t TaskShapes::sequence_of(const RowRef& row) const {
  const Trace& trace = *rec_.ranks[row.rank].trace;
  for (std::uint32_t op = operator_of(row); op != kNoIndex; op = parents_[row.rank][op]) {
    const std::uint32_t detail = trace.events.detail[op];
    if (trace.events.category[op] != Category::kCpuOp || detail == kNoDetail) continue;
    if (trace.ops[detail].sequence_number > 0) return trace.ops[detail].sequence_number;
  }
  return kNoId;
}

/// Which forward task an autograd number belongs to, on every rank.
void TaskShapes::index_forward(const TraceModel& model) {
  for (const ModelStage& stage : model.stages) {
    for (const auto& program : library_.programs[stage.rank]) {
      for (const RecordedStretch& at : program) {
        if (at.bucket != kNoIndex) continue;
        const Stretch& stretch = library_.stretches[at.stretch];
        if (stretch.key.pass != Pass::kForward) continue;
        const auto& tasks = stage.segments[at.segment].tasks;
        for (std::uint32_t i = 0; i < tasks.size() && i < stretch.tasks.size(); ++i) {
          const std::uint32_t row = rec_.ranks[stage.rank].gpu[tasks[i]].row;
          const std::int64_t number = sequence_of({stage.rank, row});
          if (number != kNoId) forward_.try_emplace({stage.rank, number}, at.stretch, i);
        }
      }
    }
  }
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> TaskShapes::forward_of(
    std::uint32_t s, std::uint32_t i) const {
  const TaskShape& shape = shapes_[s][i];
  if (shape.sequence == kNoId || !shape.inputs.empty()) return std::nullopt;
  const auto it = forward_.find({library_.stretches[s].tasks[i].row.rank, shape.sequence});
  if (it == forward_.end()) return std::nullopt;
  return it->second;
}

}  // namespace flopcast::whatif::structure
