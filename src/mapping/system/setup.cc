#include "flopcast/mapping/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace flopcast {
namespace {

using Dimension = DfmodelSetup::Dimension;

Diagnostic bad(std::string what, std::string hint) {
  return {ErrorCode::kBadInput, "setup", std::move(what), std::move(hint)};
}

std::optional<DimensionKind> kind_of(const std::string& kind) {
  if (kind == "r") return DimensionKind::kRing;
  if (kind == "fc") return DimensionKind::kFullyConnected;
  if (kind == "sw") return DimensionKind::kSwitch;
  return std::nullopt;
}

std::optional<Parallelism> parallelism_of(const std::string& text) {
  if (text == "TP") return Parallelism::kTensor;
  if (text == "PP") return Parallelism::kPipeline;
  if (text == "DP") return Parallelism::kData;
  return std::nullopt;
}

std::optional<Diagnostic> add_dimensions(const DfmodelSetup& setup, MappingSystem& system) {
  std::int64_t product = 1;
  for (const Dimension& dimension : setup.dimensions) {
    const std::optional<DimensionKind> kind = kind_of(dimension.kind);
    if (!kind) return bad(fmt::format("unknown topology '{}'", dimension.kind), "r, fc or sw");
    if (dimension.size < 1 || !(dimension.gigabytes_per_second > 0)) {
      return bad(fmt::format("dimension {} has no size or no bandwidth", system.dimensions.size()),
                 "give x, y, z and link_bw_x, ...");
    }
    product *= dimension.size;
    if (product > 1'000'000) return bad("more than a million chips", "");
    system.dimensions.push_back({*kind,
                                 static_cast<unsigned>(dimension.size),
                                 {dimension.gigabytes_per_second * 1e9},
                                 {setup.link_latency_ns * 1e-9}});
  }
  if (setup.chips > 0 && product != setup.chips) {
    return bad(fmt::format("dimensions of {} chips, but num_chip is {}", product, setup.chips),
               "make x, y, z multiply to num_chip");
  }
  return std::nullopt;
}

std::optional<Diagnostic> set_chip(const DfmodelSetup& setup, MappingSystem& system) {
  Chip& chip = system.chip;
  chip.name = "accelerator";
  chip.cores = static_cast<unsigned>(std::max<std::int64_t>(setup.cores, 0));
  chip.tiles = {chip.cores, static_cast<unsigned>(std::max<std::int64_t>(setup.width, 0)),
                static_cast<unsigned>(std::max<std::int64_t>(setup.height, 0)),
                setup.gigahertz * 1e9};
  chip.power_w = setup.accelerator_power;
  chip.price_usd = setup.accelerator_price;
  system.peak = chip.tiles.peak();
  if (system.peak.value > 0) return std::nullopt;
  return bad("the accelerator has no peak rate",
             "give core, systolic_width, systolic_height, freq");
}

UnitPrices prices_of(const DfmodelSetup& setup) {
  UnitPrices prices;
  prices.memory_usd = setup.dram_price;
  prices.link_usd = setup.link_price;
  prices.switch_usd = setup.switch_price;
  prices.memory_w = setup.dram_power;
  prices.switch_w = setup.switch_power;
  prices.link_w.assign(
      std::begin(setup.link_power),
      std::begin(setup.link_power) +
          std::min<std::size_t>(setup.dimensions.size(), std::size(setup.link_power)));
  return prices;
}

/// The shape, where every dimension is bound to a parallelism; else the search finds it.
std::optional<Diagnostic> set_shape(const DfmodelSetup& setup, MappingSearch& search) {
  std::vector<std::array<unsigned, kParallelisms>> factors;
  for (const Dimension& dimension : setup.dimensions) {
    if (dimension.parallelism.empty()) return std::nullopt;
    const std::optional<Parallelism> bound = parallelism_of(dimension.parallelism);
    if (!bound) {
      return bad(fmt::format("unknown parallelism '{}'", dimension.parallelism), "TP, PP or DP");
    }
    auto& factor = factors.emplace_back(std::array<unsigned, kParallelisms>{1, 1, 1});
    factor[static_cast<std::size_t>(*bound)] = static_cast<unsigned>(dimension.size);
  }
  search.factors = std::move(factors);
  return std::nullopt;
}

/// Published partitions are counted through both passes: the forward pass has the first half.
std::optional<Diagnostic> set_pins(const DfmodelSetup& setup, MappingSearch& search) {
  const DataflowGraph& graph = setup.workload.graph;
  const std::int64_t half = setup.workload.training ? setup.partitions / 2 : 0;
  for (std::size_t k = 0; k < std::min(setup.pins.size(), graph.kernels.size()); ++k) {
    if (setup.pins[k] < 0) continue;
    const std::int64_t place = setup.pins[k] - (graph.kernels[k].backward ? half : 0);
    if (place < 0 || (setup.partitions > 0 && setup.pins[k] >= setup.partitions)) {
      return bad(fmt::format("kernel {} is pinned to partition {}, which its pass does not have",
                             graph.kernels[k].name, setup.pins[k]),
                 "forward kernels use the first half of num_config, backward ones the second");
    }
    search.pins.push_back({graph.kernels[k].name, static_cast<unsigned>(place), false});
  }
  return std::nullopt;
}

}  // namespace

Result<MappingRequest> mapping_of_setup(const DfmodelSetup& setup) {
  MappingRequest request;
  request.workload = setup.workload;
  const auto kernels = static_cast<std::int64_t>(setup.workload.graph.kernels.size());
  MappingSystem& system = request.system;
  system.name = fmt::format("{} accelerators", setup.chips);
  system.kernel_by_kernel =
      setup.kernel_by_kernel || setup.partitions == 0 || setup.partitions == kernels;
  system.sram = {setup.sram_bytes};
  system.memory_bandwidth = {setup.dram_gigabytes_per_second * 1e9};
  system.memory_capacity = {setup.dram_bytes};
  system.prices = prices_of(setup);
  request.model = paper_model();
  request.model.utilisation = setup.utilisation;
  request.model.overlap = setup.perfect_overlap ? MappingOverlap::kPerfect : MappingOverlap::kNone;
  request.model.latency = setup.link_latency_ns > 0;
  request.search.tile = setup.tile;
  request.search.microbatch = setup.microbatch;
  if (!system.kernel_by_kernel) {
    request.search.partitions = static_cast<unsigned>(
        setup.workload.training ? std::max<std::int64_t>(setup.partitions / 2, 1)
                                : setup.partitions);
  }
  for (const std::optional<Diagnostic>& problem :
       {set_chip(setup, system), add_dimensions(setup, system), set_shape(setup, request.search),
        system.kernel_by_kernel ? std::optional<Diagnostic>() : set_pins(setup, request.search)}) {
    if (problem) return *problem;
  }
  return request;
}

}  // namespace flopcast
