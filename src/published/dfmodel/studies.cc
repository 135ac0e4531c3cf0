#include "published/dfmodel/studies.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"

namespace flopcast {

namespace published {
namespace {

/// Compute, DRAM and network time of all partitions of a layer, ns.
std::array<double, 3> parts_ns(const Mapping& mapping) {
  std::array<double, 3> parts{};
  for (const MappedPartition& partition : mapping.partitions) {
    parts[0] += partition.compute.value * 1e9;
    parts[1] += partition.memory.value * 1e9;
    parts[2] += partition.network.value * 1e9;
  }
  return parts;
}

template <PublishedWorkload workload>
StudyRows design_points(PublishedResults& results) {
  const Result<std::vector<PublishedPoint>> points = results.design(workload);
  if (!points) return points.error();
  std::vector<StudyRow> rows;
  for (const PublishedPoint& point : *points) {
    const Mapping& mapping = point.mapping;
    const std::size_t slash = point.name.find('/');
    const std::size_t link = point.name.rfind('_');
    const std::size_t memory = point.name.rfind('_', link - 1);
    const std::array<double, 3> parts = parts_ns(mapping);
    rows.push_back({point.name, point.name.substr(0, slash),
                    point.name.substr(slash + 1, memory - slash - 1),
                    point.name.substr(memory + 1, link - memory - 1), point.name.substr(link + 1),
                    point.layer_ns(), point.step_s(), mapping.utilisation, mapping.price_usd,
                    mapping.power_w, point.tflops_per_dollar(), point.tflops_per_w(), parts[0],
                    parts[1], parts[2], mapping.gap()});
  }
  return rows;
}

const std::vector<std::string> kDesignColumns = {
    "system",     "chip",        "topology",   "memory",  "link",           "layer_ns",
    "step_s",     "utilisation", "price_usd",  "power_w", "tflops_per_usd", "tflops_per_w",
    "compute_ns", "memory_ns",   "network_ns", "gap"};

}  // namespace

const std::vector<StudyEntry>& study_entries() {
  using W = PublishedWorkload;
  static const std::vector<StudyEntry> entries = {
      {"fig06",
       "Measured systems: Llama3-8B decoding on 16 SN40L",
       {"quantity", "tokens_per_s"},
       measured_points},
      {"fig07",
       "Rail-Only: GPT3-1T training on 16,384 H100 in NVLink domains of several sizes",
       {"domain", "layer_ns", "step_s", "utilisation"},
       rail_only_points},
      {"fig08",
       "Calculon: GPT3-1T training on 4,096 A100, degrees of parallelism",
       {"fixed", "tp", "pp", "dp", "layer_ns", "step_s", "utilisation"},
       calculon_points},
      {"fig09",
       "Price and power of a chip by its peak rate",
       {"chip", "tflops", "usd", "fitted_usd", "kw", "fitted_kw", "printed_kw"},
       fit_points},
      {"fig10", "GPT3-1T training on 80 systems of 1,024 chips (figures 10 and 11)", kDesignColumns,
       design_points<W::kLanguageModel>},
      {"fig12", "DLRM-793B training on 80 systems of 1,024 chips (figures 12 and 13)",
       kDesignColumns, design_points<W::kDlrm>},
      {"fig14", "HPL on 80 systems of 1,024 chips (figures 14 and 15)", kDesignColumns,
       design_points<W::kHpl>},
      {"fig16", "FFT of 2^40 points on 80 systems of 1,024 chips (figures 16 and 17)",
       kDesignColumns, design_points<W::kFft>},
      {"fig18",
       "Table VI and the roofline: GPT3-175B forward on 8 SN10",
       {"mapping", "layer_ns", "step_s", "bound_s", "utilisation", "memory_intensity",
        "network_intensity", "tflops", "partitions"},
       table_points},
      {"fig19",
       "SRAM against DRAM bandwidth: GPT3-175B forward on 4 x 2 SN10",
       {"sram_mb", "memory_gbps", "kernel_by_kernel", "dataflow", "dataflow_cycles"},
       sram_points},
      {"fig20",
       "Serving: Llama3-8B on 16 SN40L",
       {"phase", "tp", "pp", "layer_ns", "latency_ms", "latency_later_script_ms", "tokens_per_s"},
       serving_points},
      {"fig21",
       "Speculative decoding on 16 SN40L",
       {"acceptance", "drafted", "draft_ns", "target_ns", "verify_ns", "alone_per_s",
        "published_per_s", "corrected_per_s", "tree_published_per_s", "tree_corrected_per_s"},
       speculative_points},
      {"fig22",
       "Memory on top of the chip: GPT-100T forward on 8 chips of 2,080 tiles",
       {"memory", "memory_gbps", "compute_share", "tile", "layer_ns", "utilisation", "tflops"},
       stacked_points},
  };
  return entries;
}

}  // namespace published

std::vector<std::pair<std::string, std::string>> published_studies() {
  std::vector<std::pair<std::string, std::string>> studies;
  for (const published::StudyEntry& entry : published::study_entries()) {
    studies.emplace_back(entry.name, entry.title);
  }
  return studies;
}

Result<PublishedStudy> published_study(std::string_view name, const Catalog& catalog,
                                       unsigned threads) {
  std::vector<std::string> names;
  for (const published::StudyEntry& entry : published::study_entries()) {
    names.emplace_back(entry.name);
    if (entry.name != name) continue;
    published::PublishedResults results(catalog, threads);
    published::StudyRows rows = entry.points(results);
    if (!rows) return rows.error();
    return PublishedStudy{std::string(entry.name), std::string(entry.title), entry.columns,
                          std::move(*rows)};
  }
  return Diagnostic{ErrorCode::kUsage, "", fmt::format("no study is called '{}'", name),
                    did_you_mean(name, names, "they are called fig06 to fig22")};
}

}  // namespace flopcast
