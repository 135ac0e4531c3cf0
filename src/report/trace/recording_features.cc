// What a recording holds that a forecast profits from, and how to record it next time.
#include <algorithm>

#include "flopcast/report/trace.h"

namespace flopcast {
namespace {

bool any(const RunSummary& run, bool TraceSummary::*flag) {
  return std::any_of(run.traces.begin(), run.traces.end(),
                     [flag](const TraceSummary& trace) { return trace.*flag; });
}

bool has_rows(const RunSummary& run, Category category) {
  return std::any_of(run.traces.begin(), run.traces.end(), [category](const TraceSummary& trace) {
    return trace.row_counts[static_cast<int>(category)] > 0;
  });
}

bool all_ranks(const RunSummary& run) {
  const std::int32_t world = run.traces.empty() ? 0 : run.traces.front().world_size.value_or(1);
  return static_cast<std::int32_t>(run.traces.size()) >= world;
}

}  // namespace

std::vector<RecordingFeature> recording_features(const RunSummary& run) {
  std::vector<RecordingFeature> list;
  list.push_back({"gpu_rows", has_rows(run, Category::kKernel), "kernels, copies and sets",
                  "record with activities=[CPU, CUDA] on a machine with a GPU"});
  list.push_back({"host_calls",
                  has_rows(run, Category::kRuntime) || has_rows(run, Category::kDriver),
                  "launches and synchronisations", "record with activities=[CPU, CUDA]"});
  list.push_back({"steps", any(run, &TraceSummary::has_steps),
                  "marks of training steps (ProfilerStep#N)",
                  "call prof.step() after every step, with a schedule"});
  list.push_back({"all_ranks", all_ranks(run), "a file of every rank",
                  "export a trace on every rank; collectives wait for all of them"});
  list.push_back({"shapes", any(run, &TraceSummary::has_shapes), "shapes of operators' inputs",
                  "record with record_shapes=True"});
  list.push_back({"event_records", any(run, &TraceSummary::has_event_records),
                  "which work an event stands for", "use PyTorch 2.3 or newer"});
  list.push_back(
      {"sync_rows", has_rows(run, Category::kSync), "which event each wait is for",
       "record with experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"});
  if (any(run, &TraceSummary::has_communication)) {
    list.push_back({"collective_arguments", any(run, &TraceSummary::has_collectives),
                    "process group and size of collectives", "use PyTorch 2.2 or newer"});
  }
  list.push_back({"launch_shapes", any(run, &TraceSummary::has_launch_shapes),
                  "blocks of kernels, for the share of SMs in use", "use PyTorch 1.12 or newer"});
  return list;
}

}  // namespace flopcast
