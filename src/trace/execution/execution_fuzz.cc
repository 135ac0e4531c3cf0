// Any bytes as an execution trace; what is read is then linked with a trace that has its names.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "support/fuzz_target.h"
#include "trace/execution/trace.h"

using flopcast::test::check;

namespace {

using namespace flopcast;
using namespace flopcast::trace;

Trace trace_like(const ExecutionTrace& execution) {
  Trace trace;
  trace.tracks.resize(2);
  Events& events = trace.events;
  const std::size_t rows = std::min<std::size_t>(execution.nodes.size(), 2000);
  for (std::size_t i = 0; i < rows; ++i) {
    if (i % 7 == 3) continue;  // a gap now and then
    events.name.push_back(execution.nodes[i].name);
    events.external_id.push_back(static_cast<std::int64_t>(i));
    events.track.push_back(static_cast<std::uint32_t>(execution.nodes[i].thread & 1));
  }
  const std::size_t n = events.name.size();
  events.start.resize(n);
  events.duration.resize(n);
  events.category.assign(n, Category::kCpuOp);
  events.stream.assign(n, kNoStream);
  events.device.assign(n, -1);
  events.correlation.assign(n, kNoId);
  events.detail.assign(n, kNoDetail);
  events.collective.assign(n, kNoDetail);
  return trace;
}

}  // namespace

FUZZ_TARGET(data, size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes.empty() || nlohmann::json::accept(json_from_python_repr(bytes)));
  StringTable strings;
  const Result<ExecutionTrace> execution = parse_execution_trace(bytes, "fuzz", strings);
  if (!execution) {
    check(!execution.error().what.empty());
    return 0;
  }
  Trace trace = trace_like(*execution);
  const LinkReport report = link_execution_trace(trace, *execution, strings);
  check(report.linked <= report.rows && report.linked <= report.nodes);
  for (const OpDetail& op : trace.ops) {
    check(op.input_types == 0 || nlohmann::json::accept(strings[op.input_types]));
    check(op.concrete_inputs == 0 || nlohmann::json::accept(strings[op.concrete_inputs]));
    check(op.input_dims == 0 || nlohmann::json::accept(strings[op.input_dims]));
  }
  return 0;
}
