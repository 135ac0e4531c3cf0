// Expected values of chips, memories, workloads, and counts that the graphs alone decide.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "flopcast/mapping/parts.h"
#include "published/dfmodel/sections.h"

namespace flopcast::published {

namespace {

struct CatalogName {
  const char *published, *ours;
};
constexpr CatalogName kChipNames[] = {{"h100", "h100-dfmodel"},  {"tpu_v4", "tpu-v4-dfmodel"},
                                      {"sn30", "sn30-dfmodel"},  {"wse2", "wse-2-dfmodel"},
                                      {"sn10", "sn10-dfmodel"},  {"a100", "a100-dfmodel"},
                                      {"sn40l", "sn40l-dfmodel"}};
constexpr CatalogName kGraphNames[] = {{"GPT3-1T", "gpt3-1t"},   {"GPT3-175B", "gpt3-175b"},
                                       {"GPT-100T", "gpt-100t"}, {"DLRM-793B", "dlrm"},
                                       {"HPL", "hpl"},           {"FFT-1T", "fft"}};
// Setups of DLRM mean batches of so many samples where they say one.
constexpr double kDlrmSamples = 512;
constexpr std::size_t kMostIdeals = 50'000;  // of a pass

double count_of(std::size_t count) { return static_cast<double>(count); }

void check_graph(Comparison& file, const Expected& section, const CatalogName& names) {
  const Expected entry = section[names.published];
  if (!entry.exists()) return;
  const Result<DataflowWorkload> workload = load_dataflow(names.ours);
  if (!workload) {
    file.skip(entry, names.published, workload.error().text());
    return;
  }
  const DataflowGraph& graph = workload->graph;
  const auto check = [&](const char* field, double got) {
    file.check(names.published, field, entry[field], got);
  };
  check("kernels", count_of(graph.kernels.size()));
  check("edges", count_of(graph.uses()));
  check("layers", static_cast<double>(workload->layers));
  check("gbs", static_cast<double>(workload->global_batch));
  check("word", workload->word);
  if (workload->tokens > 1) check("seq", static_cast<double>(workload->tokens));
  check("workload_flop", graph.work().value * static_cast<double>(workload->layers) *
                             static_cast<double>(workload->global_batch));
  if (entry["inter_chip_min_comm_bytes"].exists()) {
    const Result<Bytes> bytes = published_sharding_bytes(*workload);
    if (bytes) check("inter_chip_min_comm_bytes", bytes->value);
  }
  for (const DataflowKernel& kernel : graph.kernels) {
    if (kernel.transfers.empty() || kernel.backward) continue;
    check("a2a_bytes_total", kernel.transfers[0].bytes.value * kDlrmSamples);
  }
  check("gbs_field", static_cast<double>(workload->global_batch) / kDlrmSamples);
}

void check_serving_graphs(Comparison& file, const Expected& section) {
  const Expected entry = section["Llama3-8B"];
  const Result<DataflowWorkload> prefill = load_dataflow("llama3-8b-dfmodel:prefill");
  const Result<DataflowWorkload> decode = load_dataflow("llama3-8b-dfmodel:decode");
  if (!prefill || !decode) return;
  const auto check = [&](const char* field, double got) {
    file.check("Llama3-8B", field, entry[field], got);
  };
  check("kernels_prefill", count_of(prefill->graph.kernels.size()));
  check("kernels_decode", count_of(decode->graph.kernels.size()));
  check("edges_decode", count_of(decode->graph.uses()));
  check("layers", static_cast<double>(prefill->layers));
  check("ctx", static_cast<double>(prefill->tokens));
}

/// A graph of the counts, by how its name starts.
struct CountedGraph {
  const char *starts, *workload;
  bool split;
};
constexpr CountedGraph kCounted[] = {{"GPT fwd 18/21", "gpt3-175b", false},
                                     {"GPT fwd+bwd 41/53 phase split", "gpt3-1t", true},
                                     {"GPT fwd+bwd 41/53 mixed", "gpt3-1t", false},
                                     {"decode 20/23", "llama3-8b-dfmodel:decode", false},
                                     {"DLRM fwd 20", "dlrm:forward", false},
                                     {"HPL chain 64", "hpl", false},
                                     {"FFT 2", "fft", false}};

}  // namespace

void check_accelerators(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("accelerators");
  for (const CatalogName& names : kChipNames) {
    const Expected entry = section[names.published];
    if (!entry.exists()) continue;
    const Result<Chip> chip = results.catalog().chip(names.ours);
    if (!chip) {
      file.skip(entry, names.published, chip.error().text());
      continue;
    }
    const auto check = [&](const char* field, double got) {
      file.check(names.published, field, entry[field], got);
    };
    const TileArray& tiles = chip->tiles;
    check("gflops", tiles.peak().value / 1e9);
    check("core", tiles.count);
    file.check(names.published, "systolic[0]", entry["systolic"].at(0), tiles.width);
    file.check(names.published, "systolic[1]", entry["systolic"].at(1), tiles.height);
    check("freq_ghz", tiles.hertz / 1e9);
    check("sram", chip->on_chip_memory.value);
    check("dram_bw", chip->hbm_bandwidth.value / 1e9);
    for (const char* field : {"price", "accelerator_price"}) check(field, chip->price_usd);
    for (const char* field : {"power_w", "accelerator_power"}) check(field, chip->power_w);
  }
}

void check_memory(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("memory_interconnect");
  const Catalog& catalog = results.catalog();
  for (const char* name : {"ddr", "hbm"}) {
    const Result<MemoryTechnology> memory = catalog.memory(name);
    if (!memory) continue;
    const Expected entry = section[name];
    file.check(name, "bw_repo", entry["bw_repo"], memory->bandwidth.value / 1e9);
    file.check(name, "bw_paper", entry["bw_paper"], memory->bandwidth.value / 1e9,
               PublishedKind::kPaper);
    file.check(name, "cap", entry["cap"], memory->capacity.value);
    for (const char* field : {"unit_power_w_per_gbps", "unit_power"}) {
      file.check(name, field, entry[field], memory->w_per_gbps);
    }
    file.check(name, "unit_price", entry["unit_price"], memory->usd_per_gbps);
  }
  for (const char* name : {"pcie", "nvlink", "switch"}) {
    const Result<InterconnectTechnology> link = catalog.interconnect(name);
    if (!link) continue;
    const Expected entry = section[name];
    file.check(name, "bw_repo", entry["bw_repo"], link->bandwidth.value / 1e9);
    file.check(name, "bw_paper", entry["bw_paper"], link->bandwidth.value / 1e9,
               PublishedKind::kPaper);
    for (const char* field : {"link_unit_power", "unit_power"}) {
      file.check(name, field, entry[field], link->w_per_gbps);
    }
    for (const char* field : {"link_unit_price", "unit_price"}) {
      file.check(name, field, entry[field], link->usd_per_gbps);
    }
  }
}

std::array<double, 3> fit_quadratic(const std::vector<double>& x, const std::vector<double>& y) {
  std::array<std::array<double, 4>, 3> rows{};  // normal equations, right side last
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t r = 0; r < 3; ++r) {
      const double power = std::pow(x[i], static_cast<double>(r));
      for (std::size_t c = 0; c < 3; ++c) rows[r][c] += power * std::pow(x[i], c);
      rows[r][3] += power * y[i];
    }
  }
  for (std::size_t pivot = 0; pivot < 3; ++pivot) {
    for (std::size_t r = pivot + 1; r < 3; ++r) {
      if (std::abs(rows[r][pivot]) > std::abs(rows[pivot][pivot])) std::swap(rows[r], rows[pivot]);
    }
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == pivot) continue;
      const double factor = rows[r][pivot] / rows[pivot][pivot];
      for (std::size_t c = 0; c < 4; ++c) rows[r][c] -= factor * rows[pivot][c];
    }
  }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

Result<ChipFit> fit_chips(const Catalog& catalog) {
  ChipFit fit;
  for (std::size_t i = 0; i < 4; ++i) {  // the design space's
    const Result<Chip> chip = catalog.chip(kChipNames[i].ours);
    if (!chip) return chip.error();
    fit.chips.push_back(chip->name);
    fit.tflops.push_back(chip->tiles.peak().value / 1e12);
    fit.usd.push_back(chip->price_usd);
    fit.kilowatts.push_back(chip->power_w / 1e3);
  }
  fit.power = fit_quadratic(fit.tflops, fit.kilowatts);
  fit.price = fit_quadratic(fit.tflops, fit.usd);
  return fit;
}

void check_power_fit(Comparison& file, PublishedResults& results) {
  constexpr int kDigits = 4;  // the coefficients are written with so many
  const Expected section = file.section("power_fit");
  if (!section.exists()) return;
  const Result<ChipFit> fit = fit_chips(results.catalog());
  if (!fit) return file.skip(section, "power_fit", fit.error().text());
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string field = fmt::format("X^{}", 2 - i);
    file.check_digits("lsq_on_4_repo_points", field, section["lsq_on_4_repo_points"].at(i),
                      fit->power[2 - i], kDigits);
    file.check_digits("price_lsq", field, section["price_lsq"].at(i), fit->price[2 - i], kDigits);
  }
}

void check_workloads(Comparison& file, PublishedResults&) {
  const Expected section = file.section("workloads");
  for (const CatalogName& names : kGraphNames) check_graph(file, section, names);
  if (section["Llama3-8B"].exists()) check_serving_graphs(file, section);
}

void check_ideals(Comparison& file, PublishedResults&) {
  const Expected section = file.section("dp_stats");
  for (std::size_t i = 0; i < section.size(); ++i) {
    const Expected entry = section.at(i);
    const std::string name = entry["graph"].text();
    for (const CountedGraph& counted : kCounted) {
      if (!name.starts_with(counted.starts)) continue;
      const Result<DataflowWorkload> workload = load_dataflow(counted.workload);
      if (!workload) break;
      const auto ideals = order_ideals(workload->graph, !counted.split, kMostIdeals);
      if (ideals) file.check(name, "ideals", entry["ideals"], count_of(*ideals));
      break;
    }
    if (name.starts_with("DLRM bwd")) {
      file.skip(entry, name, "more ideals than are enumerated: branch and bound takes over");
    }
  }
}

}  // namespace flopcast::published
