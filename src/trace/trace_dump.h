// Everything a TraceSet holds as text, ids resolved: for tests and fuzzing, which compare whole
// results.
#pragma once

#include <string>

#include "flopcast/trace.h"

namespace flopcast::trace {

inline std::string dump_detail(const TraceSet& set, const Trace& t, std::size_t row) {
  const std::uint32_t detail = t.events.detail[row];
  if (detail == kNoDetail) return "-";
  const auto text = [&set](std::uint32_t id) { return std::string(set.strings[id]); };
  switch (t.events.category[row]) {
    case Category::kKernel: {
      const KernelDetail& k = t.kernels[detail];
      return std::to_string(k.blocks) + "x" + std::to_string(k.threads_per_block) + " " +
             std::to_string(k.blocks_per_sm) + " " + std::to_string(k.graph_node);
    }
    case Category::kMemcpy:
    case Category::kMemset:
      return std::to_string(t.copies[detail].bytes);
    case Category::kSync: {
      const SyncDetail& s = t.syncs[detail];
      return std::to_string(static_cast<int>(s.kind)) + " " + std::to_string(s.wait_on_stream) +
             " " + std::to_string(s.record_correlation) + " " + std::to_string(s.event_id);
    }
    case Category::kCpuOp: {
      const OpDetail& o = t.ops[detail];
      return std::to_string(o.sequence_number) + " " + std::to_string(o.forward_thread) + " " +
             std::to_string(o.record_function_id) + " " + text(o.input_dims) + " " +
             text(o.input_types) + " " + text(o.concrete_inputs);
    }
    default:
      return "?";
  }
}

inline std::string dump_collective(const TraceSet& set, const Trace& t, std::size_t row) {
  if (t.events.collective[row] == kNoDetail) return "-";
  const CollectiveDetail& c = t.collectives[t.events.collective[row]];
  std::string out;
  for (const std::uint32_t id : {c.name, c.dtype, c.group_name, c.group_desc, c.group_ranks}) {
    out += std::string(set.strings[id]) + " ";
  }
  return out + std::to_string(c.group_size) + " " + std::to_string(c.in_elements) + " " +
         std::to_string(c.out_elements) + " " + std::to_string(c.sequence) +
         (c.is_wait ? " wait" : "") + (c.is_async ? " async" : "");
}

inline std::string dump_track(const TraceSet& set, const Track& track) {
  return std::string(set.strings[track.pid]) + "/" + std::string(set.strings[track.tid]) + " " +
         std::string(set.strings[track.process_name]) + "/" +
         std::string(set.strings[track.thread_name]);
}

inline std::string dump_row(const TraceSet& set, const Trace& t, std::size_t row) {
  const Events& e = t.events;
  return std::to_string(e.start[row].ps) + " +" + std::to_string(e.duration[row].ps) + " " +
         std::string(set.strings[e.name[row]]) + " " + category_name(e.category[row]) + " @" +
         dump_track(set, t.tracks[e.track[row]]) + " s" + std::to_string(e.stream[row]) + " d" +
         std::to_string(e.device[row]) + " c" + std::to_string(e.correlation[row]) + " x" +
         std::to_string(e.external_id[row]) + " [" + dump_detail(set, t, row) + "] [" +
         dump_collective(set, t, row) + "]\n";
}

inline std::string dump_anomalies(const Anomalies& anomalies, bool with_examples) {
  std::string out;
  for (const Anomaly& a : anomalies.list()) {
    out +=
        "! " + a.kind + " " + std::to_string(a.count) + (with_examples ? " " + a.first : "") + "\n";
  }
  return out;
}

/// @param with_examples also the first example of each anomaly, which follows file order.
inline std::string dump_set(const TraceSet& set, bool with_examples) {
  std::string out = dump_anomalies(set.anomalies, with_examples);
  for (const Trace& t : set.traces) {
    out += "rank " + (t.rank ? std::to_string(*t.rank) : "-") + " of " +
           (t.world_size ? std::to_string(*t.world_size) : "-") + " " + t.backend + " origin " +
           std::to_string(t.origin_ns) + " step " + std::to_string(t.clock_step.ps) + " other " +
           std::to_string(t.other_rows) + "\n";
    for (const Device& d : t.devices) {
      out +=
          "device " + std::to_string(d.id) + " " + d.name + " " + std::to_string(d.sm_count) + "\n";
    }
    for (std::size_t row = 0; row < t.events.size(); ++row) out += dump_row(set, t, row);
    for (const FlowPoint& f : t.flows) {
      out += "flow " + std::to_string(f.id) + (f.is_source ? " from " : " to ") +
             dump_track(set, t.tracks[f.track]) + " at " + std::to_string(f.time.ps) + "\n";
    }
    if (t.window_end) out += "window end " + std::to_string(t.window_end->ps) + "\n";
    out += dump_anomalies(t.anomalies, with_examples);
  }
  return out;
}

}  // namespace flopcast::trace
