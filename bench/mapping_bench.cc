// Speed of mapping searches. Published for GPT3-1T training on 1,024 SN30: 262.7 s on 144 threads with
// a commercial mixed-integer solver, for one shape.
#include <benchmark/benchmark.h>

#include "flopcast/mapping.h"
#include "published/dfmodel/runs.h"

namespace flopcast {
namespace {

/// One thread, so that numbers of machines with other counts of cores compare.
void map_request(benchmark::State& state, Result<MappingRequest> request) {
  if (!request) return state.SkipWithError(request.error().text().c_str());
  request->search.threads = 1;
  MappingCounts counts;
  for (auto _ : state) {
    const Result<Mapping> mapping = map_workload(*request);
    if (!mapping) return state.SkipWithError(mapping.error().text().c_str());
    counts = mapping->counts;
  }
  state.counters["ideals"] = static_cast<double>(counts.ideals);
  state.counters["transitions"] = static_cast<double>(counts.transitions);
  state.counters["candidates"] = static_cast<double>(counts.candidates);
}

/// The published setup of a workload on SN30 chips.
Result<MappingRequest> on_sn30(published::PublishedWorkload workload, PublishedNetwork network) {
  const Result<MappingSystem> system =
      published_system("sn30/2d_torus_ddr_pcie", Catalog::builtin(), network);
  if (!system) return system.error();
  Result<MappingRequest> request = published::design_space_run(workload, *system);
  if (request) request->system.kernel_by_kernel = false;
  return request;
}
Result<MappingRequest> trillion_training() {
  return on_sn30(published::PublishedWorkload::kLanguageModel, PublishedNetwork::kLanguageModel);
}

void map_gpt_forward(benchmark::State& state) {
  map_request(state, published::table_run(published::TableRow::kBestRing, Catalog::builtin()));
}
BENCHMARK(map_gpt_forward)->Unit(benchmark::kMillisecond);

void map_gpt_training(benchmark::State& state) { map_request(state, trillion_training()); }
BENCHMARK(map_gpt_training)->Unit(benchmark::kMillisecond);

void map_gpt_training_mixed(benchmark::State& state) {
  Result<MappingRequest> request = trillion_training();
  if (request) {
    request->search.mix_passes = true;
    request->search.partitions = 6;
  }
  map_request(state, std::move(request));
}
BENCHMARK(map_gpt_training_mixed)->Unit(benchmark::kMillisecond);

// 3,145,726 ideals backward: sinks are counted by kind.
void map_dlrm_training(benchmark::State& state) {
  map_request(state, on_sn30(published::PublishedWorkload::kDlrm, PublishedNetwork::kSquare));
}
BENCHMARK(map_dlrm_training)->Unit(benchmark::kMillisecond);

// Every TP, PP and DP on the dimensions, every microbatch.
void search_trillion_parameters(benchmark::State& state) {
  const Result<DataflowWorkload> workload = load_dataflow("gpt3-1t");
  SystemOptions options;
  options.topology = "torus:8x128";
  const Result<MappingSystem> system = mapping_system("1024 x sn30", options, Catalog::builtin());
  if (!workload) return state.SkipWithError(workload.error().text().c_str());
  if (!system) return state.SkipWithError(system.error().text().c_str());
  MappingRequest request{*workload, *system, full_model(), {}};
  request.search.split_dimensions = true;
  map_request(state, std::move(request));
}
BENCHMARK(search_trillion_parameters)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast
