// Floor 6: the published runs of DFModel as questions for the search.
//
// Settings that no file of the published code states, or that differ from the paper's text, are
// remarked where they are set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/mapping.h"
#include "flopcast/published/studies.h"

namespace flopcast::published {

/// A run and what the published scripts print of it.
struct PublishedPoint {
  std::string name;
  Mapping mapping;
  unsigned chips = 0;
  FlopsPerSecond peak;  ///< of a chip as sold: efficiencies are per dollar and watt of these

  double layer_ns() const { return mapping.layer.value * 1e9; }
  double step_s() const { return mapping.step.value; }
  double step_ns() const { return mapping.step.value * 1e9; }
  double tflops() const { return mapping.utilisation * peak.value * chips / 1e12; }
  double tflops_per_dollar() const { return tflops() / mapping.price_usd; }
  double tflops_per_w() const { return tflops() / mapping.power_w; }
};
Result<PublishedPoint> run_published(std::string name, const Result<MappingRequest>& request,
                                     unsigned threads);

/// Divides kernels as the published solver did where several ways move as many bytes.
void pin_shardings(MappingRequest& request);

/// Which workload of the 80 systems.
enum class PublishedWorkload : std::uint8_t { kLanguageModel, kDlrm, kHpl, kFft };
inline constexpr std::size_t kPublishedWorkloads = 4;
/// One workload on one of the 80 systems, made for that workload's network.
Result<MappingRequest> design_space_run(PublishedWorkload workload, const MappingSystem& system);
/// The 80 systems in the order of published_systems, on that workload's network.
Result<std::vector<MappingSystem>> design_space_systems(PublishedWorkload workload,
                                                        const Catalog& catalog);

/// Rows of table VI, and the optimum under the same constraints.
enum class TableRow : std::uint8_t {
  kKernelByKernel,
  kVendor,
  kPinned,
  kTorus,
  kBestRing,
  kBestTorus
};
inline constexpr std::size_t kTableRows = 6;
std::string_view name(TableRow row);  ///< as figure 18's table calls them: "KBK 8x1"
Result<MappingRequest> table_run(TableRow row, const Catalog& catalog);

/// GPT3-1T training on 4,096 A100 (figure 8). The product of the degrees is the number of chips.
Result<MappingRequest> calculon_run(unsigned tp, unsigned pp, unsigned dp, const Catalog& catalog);
/// GPT3-1T training on 16,384 H100, TP 8, PP 2, DP 1024 (figure 7).
/// @param domain chips that NVLink joins: 1 .. 1024, a power of two
Result<MappingRequest> rail_only_run(unsigned domain, const Catalog& catalog);

/// GPT3-175B on 4 x 2 SN10 (figure 19).
struct SramCase {
  double sram_bytes = 0, memory_gbps = 0;
  bool kernel_by_kernel = false;
  bool cycles = false;  ///< the chip's tiles counted instead of 90 % of its peak
};
Result<MappingRequest> sram_run(const SramCase& setup, const Catalog& catalog);

/// Llama3-8B on 16 SN40L (figure 20), one sequence of 4,096 tokens.
Result<MappingRequest> serving_run(unsigned tp, unsigned pp, bool decode, const Catalog& catalog);
struct ServingTimes {
  double layer_ns = 0, latency_ms = 0, tokens_per_second = 0;
};
/// TTFT or TPOT, and tokens per second with a microbatch in every stage.
/// @param latest hops as in the later of the published scripts: a chip sends its share only, and
/// waits 150 ns instead of 200
ServingTimes serving_times(const PublishedPoint& point, bool decode, bool latest);

/// GPT-100T forward on 8 chips of 2,080 tiles, a share of them compute, the rest SRAM (figure 22).
Result<MappingRequest> stacked_memory_run(double memory_gbps, double compute_share,
                                          const Catalog& catalog);

}  // namespace flopcast::published
