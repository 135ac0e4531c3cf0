// What a recording holds that a forecast profits from, and how to record it next time.
#include <algorithm>
#include <string_view>

#include "flopcast/report/trace.h"

namespace flopcast {
namespace {

template <typename Predicate>
bool any_trace(const TraceSet& set, Predicate&& predicate) {
  return std::any_of(set.traces.begin(), set.traces.end(), predicate);
}

bool has_rows(const TraceSet& set, Category category) {
  return any_trace(set, [category](const Trace& trace) {
    return trace.row_counts[static_cast<int>(category)] > 0;
  });
}

bool calls(const TraceSet& set, std::string_view prefix) {
  std::vector<bool> match(set.strings.size());
  for (std::uint32_t id = 0; id < match.size(); ++id)
    match[id] = set.strings[id].starts_with(prefix);
  return any_trace(set, [&](const Trace& trace) {
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      if (is_host_call(trace.events.category[row]) && match[trace.events.name[row]]) return true;
    }
    return false;
  });
}

bool has_steps(const TraceSet& set) {
  return any_trace(set, [&set](const Trace& trace) {
    const std::vector<Step> steps = find_steps(set, trace);
    return !steps.empty() && steps.front().event != kNoDetail;
  });
}

bool has_communication(const TraceSet& set) {
  return any_trace(set, [&set](const Trace& trace) {
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      if (trace.events.category[row] == Category::kKernel &&
          is_communication_kernel(set.strings[trace.events.name[row]])) {
        return true;
      }
    }
    return false;
  });
}

bool all_ranks(const TraceSet& set) {
  const std::int32_t world = set.traces.empty() ? 0 : set.traces.front().world_size.value_or(1);
  return static_cast<std::int32_t>(set.traces.size()) >= world;
}

}  // namespace

std::vector<RecordingFeature> recording_features(const TraceSet& set) {
  std::vector<RecordingFeature> list;
  list.push_back({"gpu_rows", has_rows(set, Category::kKernel), "kernels, copies and sets",
                  "record with activities=[CPU, CUDA] on a machine with a GPU"});
  list.push_back({"host_calls",
                  has_rows(set, Category::kRuntime) || has_rows(set, Category::kDriver),
                  "launches and synchronisations", "record with activities=[CPU, CUDA]"});
  list.push_back({"steps", has_steps(set), "marks of training steps (ProfilerStep#N)",
                  "call prof.step() after every step, with a schedule"});
  list.push_back({"all_ranks", all_ranks(set), "a file of every rank",
                  "export a trace on every rank; collectives wait for all of them"});
  list.push_back({"shapes",
                  any_trace(set,
                            [](const Trace& t) {
                              return std::any_of(
                                  t.ops.begin(), t.ops.end(),
                                  [](const OpDetail& op) { return op.input_dims != 0; });
                            }),
                  "shapes of operators' inputs", "record with record_shapes=True"});
  list.push_back({"event_records", calls(set, "cudaEventRecord") || calls(set, "hipEventRecord"),
                  "which work an event stands for", "use PyTorch 2.3 or newer"});
  list.push_back(
      {"sync_rows", has_rows(set, Category::kSync), "which event each wait is for",
       "record with experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"});
  if (has_communication(set)) {
    list.push_back({"collective_arguments",
                    any_trace(set, [](const Trace& t) { return !t.collectives.empty(); }),
                    "process group and size of collectives", "use PyTorch 2.2 or newer"});
  }
  list.push_back({"launch_shapes",
                  any_trace(set,
                            [](const Trace& t) {
                              return std::any_of(
                                  t.kernels.begin(), t.kernels.end(),
                                  [](const KernelDetail& k) { return k.blocks > 0; });
                            }),
                  "blocks of kernels, for the share of SMs in use", "use PyTorch 1.12 or newer"});
  return list;
}

}  // namespace flopcast
