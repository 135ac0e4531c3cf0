// Points of the studies on few chips.
#include <fmt/format.h>

#include <cmath>

#include "published/dfmodel/studies.h"

namespace flopcast::published {
namespace {

Diagnostic in(const char* study, Diagnostic error) {
  error.where = error.where.empty() ? study : fmt::format("{}, {}", study, error.where);
  return error;
}

/// Interval between tokens of a model that decodes on 16 SN40L, TP 16, with `samples` at once.
Result<double> decode_s(const std::string& model, std::int64_t samples, PublishedResults& results) {
  constexpr unsigned kChips = 16;
  Result<MappingRequest> request = serving_run(kChips, 1, true, results.catalog());
  if (!request) return request.error();
  Result<DataflowWorkload> workload =
      load_dataflow(model, {.sequence = 4096, .global_batch = samples});
  if (!workload) return workload.error();
  request->workload = std::move(*workload);
  request->search.microbatch = samples;
  request->search.shardings.clear();
  pin_shardings(*request);
  const Result<PublishedPoint> point = results.run(model, request);
  if (!point) return point.error();
  return point->mapping.layer.value * static_cast<double>(point->mapping.layers_per_stage);
}

constexpr const char* kDraft = "llama3-8b-dfmodel:decode";
constexpr const char* kTarget = "meta-llama-3-70b:decode";

}  // namespace

StudyRows measured_points(PublishedResults& results) {
  // SambaNova's own figure for one stream, as the paper cites it.
  constexpr double kMeasured = 1100;
  const Result<PublishedPoint> point =
      results.run("fig06", serving_run(16, 1, true, results.catalog()));
  if (!point) return point.error();
  const Result<double> grouped = decode_s("meta-llama-3-8b:decode", 1, results);
  if (!grouped) return in("fig06", grouped.error());
  return std::vector<StudyRow>{
      {"measured", kMeasured},
      {"as published: full attention, two matrices in the MLP",
       serving_times(*point, true, true).tokens_per_second},
      {"the model's own layers: grouped queries, gated MLP", 1 / *grouped},
  };
}

StudyRows rail_only_points(PublishedResults& results) {
  std::vector<StudyRow> rows;
  for (unsigned domain = 1; domain <= 256; domain *= 2) {
    const Result<PublishedPoint> point =
        results.run("fig07", rail_only_run(domain, results.catalog()));
    if (!point) return point.error();
    rows.push_back({static_cast<double>(domain), point->layer_ns(), point->step_s(),
                    point->mapping.utilisation});
  }
  return rows;
}

StudyRows calculon_points(PublishedResults& results) {
  struct Sweep {
    const char* fixed;
    std::array<unsigned, 3> degrees;  // 0: what is left of 4,096
    std::size_t varied;
  };
  constexpr unsigned kChips = 4096;
  const Sweep sweeps[] = {{"dp", {1, 0, 32}, 0}, {"tp", {16, 0, 8}, 2}, {"pp", {1, 8, 0}, 0}};
  std::vector<StudyRow> rows;
  for (const Sweep& sweep : sweeps) {
    std::array<unsigned, 3> degrees = sweep.degrees;
    for (unsigned step = 0; step < 6; ++step, degrees[sweep.varied] *= 2) {
      std::array<unsigned, 3> own = degrees;
      unsigned given = 1;
      for (const unsigned degree : own) given *= degree == 0 ? 1 : degree;
      for (unsigned& degree : own) degree = degree == 0 ? kChips / given : degree;
      const Result<PublishedPoint> point =
          results.run("fig08", calculon_run(own[0], own[1], own[2], results.catalog()));
      if (!point && point.error().code == ErrorCode::kUsage)
        continue;  // degrees that do not divide
      if (!point) return point.error();
      rows.push_back({sweep.fixed, static_cast<double>(own[0]), static_cast<double>(own[1]),
                      static_cast<double>(own[2]), point->layer_ns(), point->step_s(),
                      point->mapping.utilisation});
    }
  }
  return rows;
}

StudyRows fit_points(PublishedResults& results) {
  const Result<ChipFit> fit = fit_chips(results.catalog());
  if (!fit) return fit.error();
  std::vector<StudyRow> rows;
  for (std::size_t i = 0; i < fit->chips.size(); ++i) {
    const double x = fit->tflops[i];
    const auto at = [x](const std::array<double, 3>& c) { return c[0] + c[1] * x + c[2] * x * x; };
    // As the paper prints it: its middle sign makes three of the four chips consume less than nothing.
    rows.push_back({fit->chips[i], x, fit->usd[i], at(fit->price), fit->kilowatts[i],
                    at(fit->power), at({0.04, -4.3e-4, 3e-7})});
  }
  return rows;
}

StudyRows table_points(PublishedResults& results) {
  const Result<DataflowWorkload> workload = load_dataflow("gpt3-175b");
  if (!workload) return workload.error();
  std::vector<StudyRow> rows;
  for (std::size_t i = 0; i < kTableRows; ++i) {
    const auto row = static_cast<TableRow>(i);
    const Result<PublishedPoint>& point = results.table(row);
    if (!point) return point.error();
    const PublishedRoofline roofline = published_roofline(*point, workload->graph.work());
    rows.push_back({std::string(name(row)), point->layer_ns(), point->step_s(),
                    point->mapping.bound.value, point->mapping.utilisation,
                    roofline.memory_intensity, roofline.network_intensity, roofline.tflops,
                    static_cast<double>(point->mapping.partitions.size())});
  }
  return rows;
}

StudyRows sram_points(PublishedResults& results) {
  std::vector<StudyRow> rows;
  for (const double sram_mb : {150.0, 300.0, 500.0}) {
    for (const double gbps : {100.0, 300.0, 1000.0}) {
      const double sram = sram_mb * 1e6;
      StudyRow row = {sram_mb, gbps};
      for (const SramCase& setup :
           {SramCase{sram, gbps, true, false}, SramCase{sram, gbps, false, false},
            SramCase{sram, gbps, false, true}}) {
        const Result<PublishedPoint> point =
            results.run("fig19", sram_run(setup, results.catalog()));
        if (!point && point.error().code != ErrorCode::kTooLarge) return point.error();
        row.emplace_back(point ? point->mapping.utilisation : 0);  // 0: does not fit
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

StudyRows serving_points(PublishedResults& results) {
  std::vector<StudyRow> rows;
  for (const bool decode : {false, true}) {
    for (unsigned tp = 16; tp >= 1; tp /= 2) {
      const Result<PublishedPoint> point =
          results.run("fig20", serving_run(tp, 16 / tp, decode, results.catalog()));
      if (!point) return point.error();
      const ServingTimes earlier = serving_times(*point, decode, false);
      const ServingTimes later = serving_times(*point, decode, true);
      rows.push_back({decode ? "decode" : "prefill", static_cast<double>(tp), 16.0 / tp,
                      earlier.layer_ns, earlier.latency_ms, later.latency_ms,
                      earlier.tokens_per_second});
    }
  }
  return rows;
}

/// d: a draft token, t: a target token, v: the target over all that was drafted and one more.
/// Published: (K a + 1) / (K d + t), and for a tree 2^K drafted tokens in the time of its K levels.
/// Corrected: a token counts only if all before it were accepted, (1 - a^(K+1)) / (1 - a) a round, and
/// the target looks at K + 1 tokens at once. In a tree a level of two independent branches is passed
/// with probability 1 - (1 - a)^2; the target looks at all 2^(K+1) - 1 nodes.
StudyRows speculative_points(PublishedResults& results) {
  const Result<double> draft = decode_s(kDraft, 1, results);
  if (!draft) return in("fig21", draft.error());
  std::vector<StudyRow> rows;
  const auto verify = [&](std::int64_t tokens) { return decode_s(kTarget, tokens, results); };
  const Result<double> alone = verify(1);
  if (!alone) return in("fig21", alone.error());
  const auto expected = [](double a, double levels) {
    return a >= 1 ? levels + 1 : (1 - std::pow(a, levels + 1)) / (1 - a);
  };
  for (const std::int64_t drafted : {1, 2, 4, 6, 8}) {
    const auto k = static_cast<double>(drafted);
    const Result<double> checked = verify(drafted + 1);
    const Result<double> tree = verify((std::int64_t{2} << drafted) - 1);
    if (!checked || !tree) return in("fig21", checked ? tree.error() : checked.error());
    for (const double a : {0.5, 0.6, 0.7, 0.8, 0.9}) {
      const double level = 1 - (1 - a) * (1 - a);
      rows.push_back({a, k, *draft * 1e9, *alone * 1e9, *checked * 1e9, 1 / *alone,
                      (k * a + 1) / (k * *draft + *alone), expected(a, k) / (k * *draft + *checked),
                      (k * a + 1) / (std::exp2(k) * *draft + *alone),
                      expected(level, k) / (k * *draft + *tree)});
    }
  }
  return rows;
}

StudyRows stacked_points(PublishedResults& results) {
  constexpr std::pair<const char*, double> kMemories[] = {
      {"DDR", 100}, {"HBM", 1024}, {"3D", 100'000}};
  std::vector<StudyRow> rows;
  for (const auto& [memory, gbps] : kMemories) {
    for (const double share : {0.2, 0.35, 0.5, 0.65, 0.8}) {
      const Result<PublishedPoint> point =
          results.run("fig22", stacked_memory_run(gbps, share, results.catalog()));
      if (!point) return point.error();
      const Mapping& mapping = point->mapping;
      rows.push_back({memory, gbps, share, static_cast<double>(mapping.tile), point->layer_ns(),
                      mapping.utilisation,
                      mapping.utilisation * mapping.roofline.peak.value / 1e12});
    }
  }
  return rows;
}

}  // namespace flopcast::published
