#include "published/dfmodel/runs.h"

#include <algorithm>
#include <optional>

#include "flopcast/mapping/parts.h"

namespace flopcast::published {

namespace {

using Factors = std::array<unsigned, kParallelisms>;

constexpr std::array<const char*, kPublishedWorkloads> kWorkloads = {"gpt3-1t", "dlrm", "hpl",
                                                                     "fft"};
constexpr std::int64_t kDlrmBatch = 512;  // samples of a replica that a step of it takes at once
constexpr unsigned kSn30Partitions = 3;   // of each pass: num_config 6

bool is_chip(const MappingSystem& system, std::string_view chip) {
  return system.name.starts_with(chip) && system.name.size() > chip.size() &&
         system.name[chip.size()] == '/';
}

/// All dimensions to one parallelism.
std::vector<Factors> all_to(const MappingSystem& system, Parallelism parallelism) {
  std::vector<Factors> factors;
  for (const NetworkDimension& dimension : system.dimensions) {
    Factors& own = factors.emplace_back(Factors{1, 1, 1});
    own[static_cast<std::size_t>(parallelism)] = dimension.size;
  }
  return factors;
}

/// The published code bounds the time of DLRM's gradient sums, in ns, by their bytes: as if they passed
/// 1 GB/s twice whatever the links.
double dlrm_gradient_factor(const MappingRequest& request) {
  const MappingShape shape{{1, 1, request.system.chips()}, request.search.factors};
  constexpr Bytes kBytes{1e9};
  constexpr Seconds kPublished{2};
  return kPublished / group_pass_time(request.system, shape, Parallelism::kData, kBytes);
}

/// GPUs and TPUs run kernel by kernel; so do all other chips but the wafer where the published setups
/// have as many partitions as kernels.
void set_partitions(PublishedWorkload workload, MappingRequest& request) {
  if (is_chip(request.system, "wse-2")) {
    request.search.partitions = 1;
    request.search.mix_passes = true;
  } else if (workload != PublishedWorkload::kLanguageModel) {
    request.system.kernel_by_kernel = true;
  } else if (!request.system.kernel_by_kernel) {
    request.search.partitions = kSn30Partitions;
  }
}

}  // namespace

void pin_shardings(MappingRequest& request) {
  // Element-wise kernels between collectives stay whole on every chip, but for the last of a layer,
  // which training runs divide and forward runs do not.
  constexpr std::string_view kWhole[] = {
      "residual_in", "norm_1",   "dropout_2",  "residual_1",    "norm_2",       "dropout_3",
      "residual_2",  "loss_bwd", "norm_2_bwd", "dropout_2_bwd", "dropout_3_bwd"};
  for (const std::string_view kernel : kWhole) {
    if (!request.workload.graph.find(kernel)) continue;
    const bool last = kernel == "residual_2" && request.workload.training;
    request.search.shardings.push_back(
        {std::string(kernel), last ? Sharding::kM : Sharding::kNone});
  }
}

Result<PublishedPoint> run_published(std::string name, const Result<MappingRequest>& request,
                                     unsigned threads) {
  if (!request) return request.error();
  MappingRequest own = *request;
  own.search.threads = threads;
  Result<Mapping> mapping = map_workload(own);
  if (!mapping) {
    Diagnostic error = mapping.error();
    error.where = name + (error.where.empty() ? "" : ", " + error.where);
    return error;
  }
  return PublishedPoint{std::move(name), std::move(*mapping), own.system.chips(),
                        own.system.chip.tiles.peak()};
}

Result<MappingRequest> design_space_run(PublishedWorkload workload, const MappingSystem& system) {
  Result<DataflowWorkload> graph = load_dataflow(kWorkloads[static_cast<std::size_t>(workload)]);
  if (!graph) return graph.error();
  MappingRequest request{std::move(*graph), system, paper_model(), {}};
  request.search.microbatch = 1;
  request.search.tile = 1;
  pin_shardings(request);
  switch (workload) {
    case PublishedWorkload::kLanguageModel:
      request.search.factors = published_factors(system);
      break;
    case PublishedWorkload::kDlrm:
      request.search.factors = all_to(system, Parallelism::kData);
      request.search.microbatch = kDlrmBatch;
      request.model.gradient_factor = dlrm_gradient_factor(request);
      break;
    case PublishedWorkload::kFft:
      // These four setups, and no others, say half the peak.
      if (system.name.starts_with("h100/dragonfly")) request.system.peak = system.peak / 2;
      [[fallthrough]];
    case PublishedWorkload::kHpl:
      request.search.factors = all_to(system, Parallelism::kTensor);
      break;
  }
  set_partitions(workload, request);
  return request;
}

Result<std::vector<MappingSystem>> design_space_systems(PublishedWorkload workload,
                                                        const Catalog& catalog) {
  return published_systems(catalog, workload == PublishedWorkload::kLanguageModel
                                        ? PublishedNetwork::kLanguageModel
                                        : PublishedNetwork::kSquare);
}

}  // namespace flopcast::published
