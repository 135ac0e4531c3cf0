// Expected values of the 80 systems with four workloads: figures 10 to 17.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "published/dfmodel/sections.h"

namespace flopcast::published {
namespace {

constexpr std::array<const char*, 3> kMeasures = {"util", "cost efficiency", "power efficiency"};

/// What the published scripts print of a run, under the names they have there.
void check_point(Comparison& file, const std::string& name, const Expected& entry,
                 const PublishedPoint& point, PublishedKind kind = PublishedKind::kHeld) {
  const auto check = [&](const char* field, double got) {
    file.check(name, field, entry[field], got, kind);
  };
  check("II_ns", point.layer_ns());
  check("sum_II_ns", point.layer_ns());
  check("final_s", point.step_s());
  check("final_ns", point.step_ns());
  check("util", point.mapping.utilisation);
  check("cost", point.mapping.price_usd);
  check("power", point.mapping.power_w);
  check("tflops_per_dollar", point.tflops_per_dollar());
  check("tflops_per_w", point.tflops_per_w());
  check("pipeline_factor", point.mapping.bubble);
  check("p2p_ns", point.mapping.send.value * 1e9);
}

double network_ns(const PublishedPoint& point) {
  double sum_s = 0;
  for (const MappedPartition& partition : point.mapping.partitions)
    sum_s += partition.network.value;
  return sum_s * 1e9;
}

/// The point, or nothing and a remark.
const PublishedPoint* made(Comparison& file, const Expected& entry, const std::string& name,
                           PublishedWorkload workload, PublishedResults& results) {
  const Result<PublishedPoint>* point = results.point(workload, name);
  if (point != nullptr && *point) return &**point;
  file.skip(entry, name,
            point == nullptr ? "no system of the 80 is called so" : point->error().text());
  return nullptr;
}

void check_points(Comparison& file, const Expected& points, PublishedResults& results,
                  PublishedWorkload workload = PublishedWorkload::kLanguageModel) {
  if (points.size() == 0) return;
  if (const auto error = results.prepare(workload, points.keys())) {
    return file.skip(points, "points", error->text());
  }
  for (const std::string& name : points.keys()) {
    if (const PublishedPoint* point = made(file, points[name], name, workload, results)) {
      check_point(file, name, points[name], *point);
    }
  }
}

/// A log and the optimum. What the solver left unconverged cannot agree.
void check_log(Comparison& file, const Expected& entry, const PublishedPoint& point) {
  const bool unconverged = entry["note"].text().find("stopped") != std::string::npos;
  check_point(file, point.name, entry, point,
              unconverged ? PublishedKind::kUnconverged : PublishedKind::kHeld);
  file.check(point.name, "net_ns", entry["net_ns"], network_ns(point));
  check_point(file, point.name + " recomputed", entry["recomputed"], point);
  check_point(file, point.name + " dp", entry["dp"], point);
  // Of several best sequences the log has one; its solver leaves slack in each time.
  const std::vector<MappedPartition>& partitions = point.mapping.partitions;
  for (std::size_t i = 0; i < std::min(entry["part_II"].size(), partitions.size()); ++i) {
    file.check(point.name, fmt::format("part_II[{}]", i), entry["part_II"].at(i),
               partitions[i].time.value * 1e9, PublishedKind::kUnconverged);
  }
}

void check_claims(Comparison& file, const Expected& section, PublishedWorkload workload,
                  PublishedResults& results) {
  const Expected paper = section["paper_claims"];
  const Expected guessed = section["recomputed_claims_shapes_guessed"];
  if (!paper.exists() && !guessed.exists()) return;
  const auto points = results.design(workload);
  if (!points) return file.skip(section, "claims", points.error().text());
  for (const PublishedClaims& claim : network_claims(*points)) {
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
      const std::string field = fmt::format("{} {}", claim.name, kMeasures[m]);
      file.check("paper_claims", field, paper[claim.name].at(m), claim.got[m]);
      // Made before the setups' shapes were known.
      file.check("recomputed_claims_shapes_guessed", field, guessed[claim.name].at(m), claim.got[m],
                 PublishedKind::kUnconverged);
    }
  }
}

/// Partition of the kernel of that number, where each has its own.
const MappedPartition* partition_of(const PublishedPoint& point, std::uint32_t kernel) {
  for (const MappedPartition& partition : point.mapping.partitions) {
    if (partition.kernels.size() == 1 && partition.kernels[0] == kernel) return &partition;
  }
  return nullptr;
}

void check_fft_log(Comparison& file, const Expected& entry, const PublishedPoint& point) {
  check_point(file, point.name, entry, point);
  for (std::uint32_t kernel = 0; kernel < 2; ++kernel) {
    const MappedPartition* partition = partition_of(point, kernel);
    if (partition == nullptr) continue;
    const auto check = [&](const char* field, Seconds got) {
      file.check(point.name, fmt::format("{}[{}]", field, kernel), entry[field].at(kernel),
                 got.value * 1e9);
    };
    check("compute_ns", partition->compute);
    check("mem_ns", partition->memory);
    check("net_ns", partition->network);
  }
  file.check(point.name, "gflops_used", entry["gflops_used"],
             point.mapping.roofline.peak.value / 1e9);
}

}  // namespace

void check_language_logs(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("llm_dse_read");
  for (std::size_t i = 0; i < section.size(); ++i) {
    const Expected entry = section.at(i);
    const PublishedPoint* point =
        made(file, entry, entry["pt"].text(), PublishedWorkload::kLanguageModel, results);
    if (point != nullptr) check_log(file, entry, *point);
  }
}

void check_language_points(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("llm_dse80_recomputed");
  // Points may also stand in their section itself, or at the top.
  check_points(file, section["points"].exists() ? section["points"] : section, results);
  check_points(file, file.section("points"), results);
}

void check_language_claims(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("llm_dse_claims");
  if (!section.exists()) return;
  const auto points = results.design(PublishedWorkload::kLanguageModel);
  if (!points) return file.skip(section, "llm_dse_claims", points.error().text());
  const Expected rows = section["rows"];
  for (const PublishedClaim& claim : language_claims(*points)) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.at(i).at(0).text() != claim.text) continue;
      file.check(claim.text, "paper", rows.at(i).at(1), claim.got, PublishedKind::kPaper);
      file.check(claim.text, "recomputed", rows.at(i).at(2), claim.got);
    }
  }
}

void check_dlrm(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("dlrm");
  check_points(file, section["points"], results, PublishedWorkload::kDlrm);
  const Expected log = section["read"];
  if (const PublishedPoint* point =
          made(file, log, log["pt"].text(), PublishedWorkload::kDlrm, results)) {
    check_point(file, point->name, log, *point);
    file.check(point->name, "recomputed_II", section["recomputed_II"], point->layer_ns());
    constexpr std::uint32_t kFirst = 0, kLookups = 4;  // first layer; last of the bottom stack
    const MappedPartition *layer = partition_of(*point, kFirst),
                          *lookups = partition_of(*point, kLookups);
    if (layer != nullptr && lookups != nullptr) {
      file.check(point->name, "per_kernel_II_ns", log["per_kernel_II_ns"], layer->time.value * 1e9);
      file.check(point->name, "a2a_kernel_II_ns", log["a2a_kernel_II_ns"],
                 lookups->time.value * 1e9);
    }
  }
  check_claims(file, section, PublishedWorkload::kDlrm, results);
}

void check_fft(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("fft");
  check_points(file, section["points"], results, PublishedWorkload::kFft);
  for (std::size_t i = 0; i < section["read"].size(); ++i) {
    const Expected log = section["read"].at(i);
    const PublishedPoint* point =
        made(file, log, log["pt"].text(), PublishedWorkload::kFft, results);
    if (point == nullptr) continue;
    check_fft_log(file, log, *point);
    file.check(point->name, "recomputed", section["recomputed"].at(i), point->step_ns());
  }
  check_claims(file, section, PublishedWorkload::kFft, results);
}

void check_hpl(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("hpl");
  check_points(file, section["points"], results, PublishedWorkload::kHpl);
  const Expected log = section["read"];
  const PublishedPoint* point = made(file, log, log["pt"].text(), PublishedWorkload::kHpl, results);
  if (point == nullptr || point->mapping.partitions.empty()) return;
  check_point(file, point->name, log, *point);
  const auto& partitions = point->mapping.partitions;
  file.check(point->name, "first_iter_ns", log["first_iter_ns"],
             partitions.front().time.value * 1e9);
  file.check(point->name, "last_iter_ns", log["last_iter_ns"], partitions.back().time.value * 1e9);
}

void check_milp(Comparison& file, PublishedResults& results) {
  const Expected section = file.section("milp_stats");
  for (std::size_t i = 0; i < section.size(); ++i) {
    const Expected entry = section.at(i);
    const std::string name = entry["graph"].text();
    if (!entry["obj"].exists() || !name.starts_with("41/53 C=6")) continue;
    const Result<MappingSystem> system = published_system(
        "sn30/2d_torus_ddr_pcie", results.catalog(), PublishedNetwork::kLanguageModel);
    if (!system) continue;
    Result<MappingRequest> request = design_space_run(PublishedWorkload::kLanguageModel, *system);
    if (!request) continue;
    if (name.ends_with("mixed")) {
      request->search.mix_passes = true;
      request->search.partitions = 6;
    }
    const Result<PublishedPoint> point = results.run(name, request);
    if (!point) {
      file.skip(entry["obj"], name, point.error().text());
      continue;
    }
    file.check(name, "obj", entry["obj"], point->layer_ns());
  }
}

}  // namespace flopcast::published
