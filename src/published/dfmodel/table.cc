// Expected values of table VI, figure 18 and figure 19: GPT3-175B on eight SN10.
#include <fmt/format.h>

#include <algorithm>

#include "published/dfmodel/sections.h"

namespace flopcast::published {
namespace {

/// Rows as the expected values describe them.
struct RowName {
  const char* starts;
  TableRow row;
};
constexpr RowName kRows[] = {{"kernel-by-kernel", TableRow::kKernelByKernel},
                             {"vendor", TableRow::kVendor},
                             {"DFModel 8x1", TableRow::kPinned},
                             {"DFModel 4x2", TableRow::kTorus}};

void check_row(Comparison& file, const Expected& entry, TableRow row, PublishedResults& results) {
  const std::string label(name(row));
  const Result<PublishedPoint>& point = results.table(row);
  if (!point) return file.skip(entry, label, point.error().text());
  const Mapping& mapping = point->mapping;
  file.check(label, "final_s", entry["final_s"], point->step_s());
  file.check(label, "util", entry["util"], mapping.utilisation);
  file.check(label, "sum_II_ns", entry["sum_II_ns"], point->layer_ns());
  file.check(label, "recomputed", entry["recomputed"], point->layer_ns());
  // The log of 4x2 ends in an interrupt: what does not bind there is larger than it need be.
  const PublishedKind part =
      row == TableRow::kTorus ? PublishedKind::kUnconverged : PublishedKind::kHeld;
  for (std::size_t i = 0; i < mapping.partitions.size(); ++i) {
    const MappedPartition& partition = mapping.partitions[i];
    const auto check = [&](const char* field, Seconds got, PublishedKind kind) {
      file.check(label, fmt::format("{}[{}]", field, i), entry[field].at(i), got.value * 1e9, kind);
    };
    check("part_II", partition.time, PublishedKind::kHeld);
    check("comp", partition.compute, part);
    check("mem", partition.memory, PublishedKind::kHeld);
    check("net", partition.network, PublishedKind::kHeld);
  }
}

void check_optimum(Comparison& file, const Expected& entry, TableRow row,
                   PublishedResults& results) {
  if (!entry.exists()) return;
  const std::string label(name(row));
  const Result<PublishedPoint>& point = results.table(row);
  if (!point) return file.skip(entry, label, point.error().text());
  file.check(label, "sum_II_ns", entry["sum_II_ns"], point->layer_ns());
  file.check(label, "highs_milp", entry["highs_milp"], point->layer_ns());
  file.check(label, "final_s", entry["final_s"], point->step_s());
  file.check(label, "util", entry["util"], point->mapping.utilisation);
  const std::vector<MappedPartition>& partitions = point->mapping.partitions;
  for (std::size_t i = 0; i < entry["partitions"].size(); ++i) {
    const Expected kernels = entry["partitions"].at(i);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const bool there = i < partitions.size() && k < partitions[i].kernels.size();
      file.check(label, fmt::format("partitions[{}][{}]", i, k), kernels.at(k),
                 there ? partitions[i].kernels[k] : -1.0);
    }
  }
}

void check_ratios(Comparison& file, const Expected& entry, PublishedResults& results) {
  std::array<double, 4> step_s{};
  for (std::size_t i = 0; i < step_s.size(); ++i) {
    const Result<PublishedPoint>& point = results.table(kRows[i].row);
    if (!point) return;
    step_s[i] = point->step_s();
  }
  const std::pair<const char*, double> ratios[] = {
      {"vendor_over_kbk", step_s[0] / step_s[1]},   {"dfmodel8_over_vendor", step_s[1] / step_s[2]},
      {"dfmodel4x2_over_8", step_s[2] / step_s[3]}, {"total", step_s[0] / step_s[3]},
      {"vs_vendor", step_s[1] / step_s[3]},
  };
  for (std::size_t i = 0; i < std::size(ratios); ++i) {
    file.check("ratios", ratios[i].first, entry[ratios[i].first], ratios[i].second);
    file.check("ratios", fmt::format("paper {}", ratios[i].first), entry["paper"].at(i),
               ratios[i].second, PublishedKind::kPaper);
  }
}

}  // namespace

void check_table(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("table_VI");
  if (!section.exists()) return;
  for (std::size_t i = 0; i < section["rows"].size(); ++i) {
    const Expected entry = section["rows"].at(i);
    for (const RowName& known : kRows) {
      if (entry["map"].text().starts_with(known.starts)) {
        check_row(file, entry, known.row, results);
      }
    }
  }
  const Expected optimum = section["exact_optimum_by_DP"];
  check_optimum(file, optimum["ring_8x1"], TableRow::kBestRing, results);
  check_optimum(file, optimum["torus_4x2"], TableRow::kBestTorus, results);
  if (section["ratios"].exists()) check_ratios(file, section["ratios"], results);
}

void check_roofline(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("fig18_roofline");
  if (!section.exists()) return;
  const Result<DataflowWorkload> workload = load_dataflow("gpt3-175b");
  if (!workload) return file.skip(section, "fig18_roofline", workload.error().text());
  for (std::size_t i = 0; i < kTableRows; ++i) {
    const auto row = static_cast<TableRow>(i);
    const Expected entry = section["rows"][name(row)];
    if (!entry.exists()) continue;
    const Result<PublishedPoint>& point = results.table(row);
    if (!point) {
      file.skip(entry, std::string(name(row)), point.error().text());
      continue;
    }
    const PublishedRoofline roofline = published_roofline(*point, workload->graph.work());
    const std::string label(name(row));
    file.check(label, "OI_mem", entry.at(0), roofline.memory_intensity);
    file.check(label, "OI_net", entry.at(1), roofline.network_intensity);
    file.check(label, "TFLOPS", entry.at(2), roofline.tflops);
  }
  const Result<PublishedPoint>& point = results.table(TableRow::kKernelByKernel);
  if (!point) return;
  const MappingRoofline& roofline = point->mapping.roofline;
  const Expected peaks = section["peaks"];
  file.check("peaks", "tflops", peaks["tflops"], roofline.peak.value / 1e12);
  file.check("peaks", "dram_gbps", peaks["dram_gbps"], roofline.memory_bandwidth.value / 1e9);
  file.check("peaks", "link_gbps", peaks["link_gbps"], roofline.network_bandwidth.value / 1e9);
}

void check_sram(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("fig19");
  if (!section.exists()) return;
  // Kernel by kernel needs no SRAM to speak of.
  constexpr double kSmall = 150e6, kLarge = 500e6;
  constexpr double kMemories[] = {100, 300, 1000};
  for (std::size_t i = 0; i < std::size(kMemories); ++i) {
    const std::string label = fmt::format("{} GB/s", kMemories[i]);
    const Result<PublishedPoint> point =
        results.run(label, sram_run({kSmall, kMemories[i], true, false}, results.catalog()));
    if (!point) continue;
    const double utilisation = point->mapping.utilisation;
    file.check(label, "read_kbk", section["read_kbk"].at(i), utilisation);
    file.check(label, "recomputed_kbk", section["recomputed_kbk"][fmt::format("{}", kMemories[i])],
               utilisation);
  }
  const Expected log = section["read_df_l_sram_s_dram"];
  if (!log.exists()) return;
  const Result<PublishedPoint> point =
      results.run("dataflow", sram_run({kLarge, kMemories[0], false, true}, results.catalog()));
  if (!point) return file.skip(log, "dataflow", point.error().text());
  // The log's tiles cover 2,052 of 2,048 rows, and its split of cores takes half as long again as the
  // best one.
  file.check("dataflow", "final_ns", log["final_ns"], point->step_ns(),
             PublishedKind::kUnconverged);
  file.check("dataflow", "sum_II_ns", log["sum_II_ns"], point->layer_ns(),
             PublishedKind::kUnconverged);
  file.skip(log["part_II"], "dataflow part_II", "times of another sequence of partitions");
}

}  // namespace flopcast::published
