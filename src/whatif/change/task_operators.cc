#include "whatif/change/task_operators.h"

namespace flopcast::whatif {

using namespace replaying;

LaunchShape launch_shape_of(const Trace& trace, std::uint32_t row) {
  const Events& events = trace.events;
  const std::uint32_t detail = events.detail[row];
  std::uint64_t blocks = 0, threads = 0;
  if (detail != kNoDetail && events.category[row] == Category::kKernel) {
    blocks = trace.kernels[detail].blocks;
    threads = trace.kernels[detail].threads_per_block;
  } else if (detail != kNoDetail && is_gpu_work(events.category[row])) {
    blocks = static_cast<std::uint64_t>(trace.copies[detail].bytes);
  }
  return {events.name[row], blocks, threads};
}

TaskOperators::TaskOperators(const TraceSet& set, const RankModel& rank)
    : set_(set), rank_(rank), row_(rank.gpu.size(), kNoIndex), shapes_(rank.gpu.size(), 0) {
  const Trace& trace = *rank.trace;
  std::map<LaunchShape, std::uint32_t> equal;
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    const std::uint32_t call = rank.gpu[t].call;
    if (call == kNoIndex || rank.calls[call].op == kNoIndex) continue;
    row_[t] = rank.calls[call].op;
    equal.emplace(launch_shape_of(trace, rank.gpu[t].row), row_[t]);
  }
  inputs_.emplace_back();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;  // dims and types
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    if (row_[t] == kNoIndex) {
      const auto like = equal.find(launch_shape_of(trace, rank.gpu[t].row));
      if (like == equal.end()) continue;
      row_[t] = like->second;
    }
    const std::uint32_t detail = trace.events.detail[row_[t]];
    if (detail == kNoDetail || detail >= trace.ops.size()) continue;
    const OpDetail& op = trace.ops[detail];
    if (op.input_dims == 0) continue;
    const auto [entry, fresh] = known.try_emplace({op.input_dims, op.input_types},
                                                  static_cast<std::uint32_t>(inputs_.size()));
    if (fresh)
      inputs_.push_back(operator_inputs(set.strings[op.input_dims], set.strings[op.input_types]));
    shapes_[t] = entry->second;
  }
}

RecordedKernel TaskOperators::kernel(std::uint32_t task) const {
  const Events& events = rank_.trace->events;
  return {set_.strings[events.name[rank_.gpu[task].row]],
          row_[task] == kNoIndex ? std::string_view() : set_.strings[events.name[row_[task]]],
          inputs_[shapes_[task]]};
}

}  // namespace flopcast::whatif
