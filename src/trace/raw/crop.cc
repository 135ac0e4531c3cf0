#include "trace/raw/crop.h"

#include "trace/raw/gather.h"

namespace flopcast::trace {
namespace {

Rows rows_to_keep(const Trace& trace, const Keep& keep) {
  const Events& events = trace.events;
  Rows rows;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    const Category category = events.category[row];
    const bool partner = (is_gpu_work(category) || is_host_call(category)) &&
                         keep.correlations.contains(events.correlation[row]);
    if (partner || keep.holds(events.start[row], events.end(row))) rows.push_back(row);
  }
  return rows;
}

void keep_times(const Trace& trace, const Rows& rows, Time zero, Trace& out) {
  for (const std::uint32_t row : rows) {
    out.events.start.push_back(trace.events.start[row] - zero);
    out.events.duration.push_back(trace.events.duration[row]);
    ++out.row_counts[static_cast<int>(trace.events.category[row])];
  }
  out.origin_ns = trace.origin_ns + zero.ps / 1000;
  if (trace.window_end) out.window_end = *trace.window_end - zero;
}

void keep_flows(const Trace& trace, const Keep& keep, Time zero, Trace& out) {
  for (FlowPoint flow : trace.flows) {
    if (!keep.holds(flow.time, flow.time)) continue;
    flow.time = flow.time - zero;
    out.flows.push_back(flow);
  }
}

}  // namespace

void collect_correlations(const Trace& trace, Keep& keep) {
  const Events& events = trace.events;
  for (std::size_t row = 0; row < events.size(); ++row) {
    if (!is_gpu_work(events.category[row]) && !is_host_call(events.category[row])) continue;
    if (events.correlation[row] == kNoId) continue;
    if (keep.holds(events.start[row], events.end(row))) {
      keep.correlations.insert(events.correlation[row]);
    }
  }
}

Result<Step> find_step(const TraceSet& set, const Trace& trace, const std::string& wanted) {
  std::string known;
  for (Step& step : find_steps(set, trace)) {
    if (step.name == wanted || step.name == "ProfilerStep#" + wanted) return std::move(step);
    known += (known.empty() ? "" : ", ") + step.name;
  }
  return no_such_step(trace.path, wanted, known);
}

Diagnostic no_such_step(const std::string& path, const std::string& wanted,
                        const std::string& known) {
  return {ErrorCode::kUsage, "", path + " has no step \"" + wanted + "\"",
          "its steps are " + known};
}

Trace crop(const Trace& trace, const Keep& keep) {
  const Rows rows = rows_to_keep(trace, keep);
  const Time zero = rows.empty() ? Time{} : trace.events.start[rows.front()];
  Trace out;
  out.path = trace.path;
  out.rank = trace.rank;
  out.world_size = trace.world_size;
  out.backend = trace.backend;
  out.devices = trace.devices;
  out.clock_step = trace.clock_step;
  out.bytes_read = trace.bytes_read;
  out.other_rows = trace.other_rows;
  out.anomalies = trace.anomalies;
  keep_times(trace, rows, zero, out);
  keep_flows(trace, keep, zero, out);
  Events columns = trace.events;
  gather_columns(columns, rows, true, out.events);
  gather_details(trace, out);
  gather_tracks(trace.tracks, out);
  return out;
}

}  // namespace flopcast::trace
