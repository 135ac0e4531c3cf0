// Settings of the published runs on few chips: table VI, comparisons with other tools, SRAM against
// DRAM, serving, memory on top of the chip.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "published/dfmodel/runs.h"

namespace flopcast::published {
namespace {

using Factors = std::array<unsigned, kParallelisms>;
constexpr std::size_t kTp = 0, kPp = 1, kDp = 2;

/// A network made dimension by dimension, each for one parallelism.
class Network {
 public:
  Network& ring(unsigned size, double gbps, std::size_t parallelism, double latency_ns = 0) {
    if (size <= 1) return *this;
    dimensions_.push_back({DimensionKind::kRing, size, {gbps * 1e9}, {latency_ns * 1e-9}});
    factors_.push_back({1, 1, 1});
    factors_.back()[parallelism] = size;
    return *this;
  }

  /// The request of `workload` on chips of one kind that are joined so.
  Result<MappingRequest> request(std::string_view chip, double memory_gbps, const Catalog& catalog,
                                 const std::string& workload, DataflowOptions options = {}) const {
    unsigned chips = 1;
    for (const NetworkDimension& dimension : dimensions_) chips *= dimension.size;
    SystemOptions system_options;
    system_options.memory = fmt::format("{}GB/s", memory_gbps);
    system_options.topology = fmt::format("ring:{}", chips);
    Result<MappingSystem> system =
        mapping_system(fmt::format("{} x {}", chips, chip), system_options, catalog);
    if (!system) return system.error();
    Result<DataflowWorkload> graph = load_dataflow(workload, options);
    if (!graph) return graph.error();
    MappingRequest request{std::move(*graph), std::move(*system), paper_model(), {}};
    request.system.dimensions = dimensions_;
    request.system.memory_capacity = {};  // no run on few chips limits it
    request.search.factors = factors_;
    request.search.microbatch = 1;
    request.search.tile = 1;
    pin_shardings(request);
    return request;
  }

 private:
  std::vector<NetworkDimension> dimensions_;
  std::vector<Factors> factors_;
};

/// A partition per entry, kernels by number.
void pin(MappingRequest& request, const std::vector<std::vector<std::uint32_t>>& partitions) {
  for (std::size_t p = 0; p < partitions.size(); ++p) {
    for (const std::uint32_t kernel : partitions[p]) {
      request.search.pins.push_back(
          {request.workload.graph.kernels[kernel].name, static_cast<unsigned>(p), false});
    }
  }
}

using Partitions = std::vector<std::vector<std::uint32_t>>;
// The only sequence of partitions with the four logged times.
const Partitions kVendor = {{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9, 10, 11, 12}, {13}, {14, 15, 16, 17}};
// config fields of the setup of dfmodel_8x1: all GEMMs.
const Partitions kPinnedRing = {{2, 3, 4}, {5, 8}, {9, 13}, {15}};
// One of three that have the logged times; they differ in which of q, k, v is in the second.
const Partitions kPinnedTorus = {
    {0, 1, 2, 3}, {4, 5, 6, 7, 8, 9, 10}, {11, 12, 13}, {14, 15, 16, 17}};
constexpr unsigned kTablePartitions = 4;
constexpr double kTableLink = 50, kTableMemory = 100;  // GB/s; the paper says 25 and 200

constexpr double kServingLatency = 150;  // ns

}  // namespace

std::string_view name(TableRow row) {
  constexpr std::array<std::string_view, kTableRows> kNames = {
      "KBK 8x1", "vendor 8x1", "DFModel 8x1", "DFModel 4x2", "exact DP 8x1", "exact DP 4x2"};
  return kNames[static_cast<std::size_t>(row)];
}

Result<MappingRequest> table_run(TableRow row, const Catalog& catalog) {
  Network network;
  if (row == TableRow::kTorus || row == TableRow::kBestTorus) {
    network.ring(4, kTableLink, kTp).ring(2, kTableLink, kDp);
  } else {
    network.ring(8, kTableLink, kTp);
  }
  Result<MappingRequest> request =
      network.request("sn10-dfmodel", kTableMemory, catalog, "gpt3-175b");
  if (!request) return request;
  request->search.partitions = kTablePartitions;
  request->system.kernel_by_kernel = row == TableRow::kKernelByKernel;
  if (row == TableRow::kVendor) pin(*request, kVendor);
  if (row == TableRow::kPinned) pin(*request, kPinnedRing);
  if (row == TableRow::kTorus) pin(*request, kPinnedTorus);
  return request;
}

Result<MappingRequest> calculon_run(unsigned tp, unsigned pp, unsigned dp, const Catalog& catalog) {
  Result<MappingRequest> request = Network()
                                       .ring(tp, 150, kTp)
                                       .ring(pp, 25, kPp)
                                       .ring(dp, 25, kDp)
                                       .request("a100-dfmodel", 2039, catalog, "gpt3-1t");
  if (request) request->model.overlap = MappingOverlap::kNone;
  return request;
}

Result<MappingRequest> rail_only_run(unsigned domain, const Catalog& catalog) {
  constexpr unsigned kTensor = 8, kPipeline = 2, kData = 1024;
  constexpr double kFast = 900, kSlow = 50;
  // The published ratios give the tensor- and the data-parallel group each a whole domain.
  const unsigned tp = std::min(domain, kTensor), dp = std::min(domain, kData);
  Result<MappingRequest> request =
      Network()
          .ring(tp, kFast, kTp)
          .ring(kTensor / tp, kSlow, kTp)
          .ring(kPipeline, kSlow, kPp)
          .ring(dp, kFast, kDp)
          .ring(kData / dp, kSlow, kDp)
          .request("h100-dfmodel", 3072, catalog, "gpt3-1t", {.global_batch = 4096});
  if (!request) return request;
  request->model.overlap = MappingOverlap::kNone;
  request->model.utilisation = 1;
  request->model.all_reduce_factor = 1;  // two in the comparison with Calculon
  request->model.gradient_factor = 1;
  return request;
}

Result<MappingRequest> sram_run(const SramCase& setup, const Catalog& catalog) {
  Result<MappingRequest> request =
      Network()
          .ring(4, kTableLink, kTp)
          .ring(2, kTableLink, kDp)
          .request("sn10-dfmodel", setup.memory_gbps, catalog, "gpt3-175b");
  if (!request) return request;
  request->system.kernel_by_kernel = setup.kernel_by_kernel;
  request->system.sram = {setup.sram_bytes};
  if (setup.cycles) {
    request->model.utilisation = 0;
    request->model.all_reduce_factor = 1;
    request->search.tile = 0;
  }
  return request;
}

Result<MappingRequest> serving_run(unsigned tp, unsigned pp, bool decode, const Catalog& catalog) {
  Result<MappingRequest> request =
      Network()
          .ring(tp, 50, kTp, kServingLatency)
          .ring(pp, 50, kPp, kServingLatency)
          .request("sn40l-dfmodel", 1638.4, catalog,
                   decode ? "llama3-8b-dfmodel:decode" : "llama3-8b-dfmodel:prefill",
                   {.global_batch = 1});
  if (!request) return request;
  request->model.overlap = MappingOverlap::kNone;
  request->model.latency = true;
  // A layer is one partition whatever it holds: prefill has no memory time at all.
  request->search.partitions = 1;
  request->system.sram = {1e15};
  return request;
}

ServingTimes serving_times(const PublishedPoint& point, bool decode, bool latest) {
  constexpr double kHidden = 4096, kContext = 4096, kWord = 2, kLink = 50e9;
  const Mapping& mapping = point.mapping;
  const double tokens = decode ? 1 : kContext;
  const double pp = mapping.shape.pp();
  const double interval = mapping.layer.value * static_cast<double>(mapping.layers_per_stage);
  const double share = latest ? mapping.shape.tp() : 1;
  const double hop = kHidden * tokens * kWord / share / kLink + (latest ? 150e-9 : 200e-9);
  return {point.layer_ns(), (interval * pp + (pp - 1) * hop) * 1e3, tokens / interval};
}

Result<MappingRequest> stacked_memory_run(double memory_gbps, double compute_share,
                                          const Catalog& catalog) {
  constexpr double kTiles = 2080, kTileBytes = 0.5 * 1024 * 1024;
  Result<MappingRequest> request =
      Network().ring(8, 1000, kTp).request("sn40l-dfmodel", memory_gbps, catalog, "gpt-100t");
  if (!request) return request;
  MappingSystem& system = request->system;
  system.chip.tiles.count = static_cast<unsigned>(std::lround(kTiles * compute_share));
  system.peak = system.chip.tiles.peak();
  system.sram = {kTiles * (1 - compute_share) * kTileBytes};
  // Kernel by kernel, but each within SRAM: partitions of one kernel.
  Partitions alone;
  for (std::uint32_t i = 0; i < request->workload.graph.kernels.size(); ++i) alone.push_back({i});
  pin(*request, alone);
  request->search.partitions = static_cast<unsigned>(alone.size());
  request->search.tile = 0;
  request->search.every_tile = true;
  request->model.utilisation = 0;
  request->model.all_reduce_factor = 1;
  request->model.pieces_traffic = true;
  return request;
}

}  // namespace flopcast::published
