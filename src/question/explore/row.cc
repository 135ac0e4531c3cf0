// From a question in words to a sweep, and from its points to rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

#include "flopcast/question/explore.h"
#include "flopcast/version.h"

namespace flopcast {
namespace {

/// Says what is not at its default.
class Words {
 public:
  explicit Words(std::string text) : text_(std::move(text)) {}
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("; {} {}", name, value);
  }
  template <typename Number>
  void number(std::string_view name, Number value, Number otherwise) {
    if (value != otherwise) text_ += fmt::format("; {} {}", name, value);
  }
  void flag(std::string_view name, bool value) {
    if (value) text_ += fmt::format("; {}", name);
  }
  void list(std::string_view name, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(name, value);
  }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_search(Words& words, const MappingSearch& search) {
  const MappingSearch plain;
  for (std::size_t p = 0; p < kParallelisms; ++p) {
    words.number(name(static_cast<Parallelism>(p)), search.degree[p], 0U);
  }
  words.number("microbatch", search.microbatch, plain.microbatch);
  words.number("tile", search.tile, plain.tile);
  words.flag("every tile", search.every_tile);
  words.number("partitions", search.partitions, plain.partitions);
  words.flag("mix passes", search.mix_passes);
  words.flag("split dimensions", search.split_dimensions);
  words.number("gap", search.gap, plain.gap);
}

}  // namespace

Result<ExploreRequest> explore_of_question(const MappingQuestion& question,
                                           const std::vector<std::string>& sweeps, bool explain) {
  const Result<MappingModel> model = mapping_model(question);
  if (!model) return model.error();
  Result<std::vector<MappingPin>> pins = mapping_pins(question);
  if (!pins) return pins.error();
  Result<std::vector<ShardingPin>> shardings = sharding_pins(question);
  if (!shardings) return shardings.error();
  ExploreRequest request;
  request.workload = question.workload;
  request.dataflow = question.dataflow;
  request.on = question.on;
  request.system = question.system;
  request.model = *model;
  request.search = question.search;
  request.search.pins = std::move(*pins);
  request.search.shardings = std::move(*shardings);
  request.sweeps = sweeps;
  request.explain = explain;
  request.threads = question.search.threads;
  return request;
}

std::string explore_words(const MappingQuestion& question, const std::vector<std::string>& sweeps,
                          bool explain) {
  Words words(fmt::format("{} on {}", question.workload, question.on));
  words.add("topology", question.system.topology);
  words.add("memory", question.system.memory);
  words.add("link", question.system.link);
  words.list("set", question.system.changes);
  words.add("precision", std::string(name(question.system.precision)));
  words.number("sequence", question.dataflow.sequence, std::int64_t{0});
  words.number("global batch", question.dataflow.global_batch, std::int64_t{0});
  words.number("unroll", question.dataflow.unroll, std::int64_t{1});
  words.add("mode", question.mode);
  words.add("overlap", question.overlap);
  if (question.utilisation >= 0) words.number("utilisation", question.utilisation, -1.0);
  add_search(words, question.search);
  words.list("pin", question.pins);
  words.list("forbid", question.forbids);
  words.list("sharding", question.shardings);
  words.list("sweep", sweeps);
  words.flag("explained", explain);
  words.add("flopcast", std::string(kVersion));
  return std::move(words).take();
}

ExploreRow explore_row(std::string asked, std::span<const ExploreAxis> axes, std::size_t of,
                       const ExplorePoint& point) {
  ExploreRow row;
  row.asked = std::move(asked);
  row.index = point.index;
  row.of = of;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    row.sweep.emplace_back(axes[i].name, point.values[i]);
  }
  row.fits = point.mapping.has_value();
  for (const ExploreGain& gain : point.gains) row.gains.emplace_back(gain.resource, gain.speedup);
  row.why = point.bottleneck;
  if (!row.fits) {
    row.problem = point.refusal.text();
    return row;
  }
  const Mapping& m = *point.mapping;
  row.step_s = m.step.value;
  row.bound_s = m.bound.value;
  row.exact = m.exact;
  row.utilisation = m.utilisation;
  row.samples_per_second = m.samples_per_second;
  row.flop_per_s = point.achieved().value;
  row.price_usd = m.price_usd;
  row.power_w = m.power_w;
  row.shape = shape_words(m.shape);
  const std::array<double, 3> shares = limit_shares(m);
  row.compute_share = shares[static_cast<std::size_t>(MappingLimit::kCompute)];
  row.memory_share = shares[static_cast<std::size_t>(MappingLimit::kMemory)];
  row.network_share = shares[static_cast<std::size_t>(MappingLimit::kNetwork)];
  return row;
}

std::vector<bool> explore_front(std::span<const ExploreRow> rows) {
  std::vector<ExploreCost> costs;
  for (const ExploreRow& row : rows) {
    ExploreCost cost{1 / row.samples_per_second, row.price_usd, row.power_w};
    if (!row.fits) cost.time = std::numeric_limits<double>::infinity();
    costs.push_back(cost);
  }
  std::vector<bool> front = pareto_front(costs);
  std::set<std::tuple<double, double, double>> seen;
  for (std::size_t i = 0; i < front.size(); ++i) {
    const ExploreCost& cost = costs[i];
    front[i] = front[i] && seen.emplace(cost.time, cost.price, cost.power).second;
  }
  return front;
}

namespace {

struct ExploreMeasure {
  std::string_view name;
  double (*of)(const ExploreRow& row);  ///< greater is better; 0: not known
};
constexpr std::array<ExploreMeasure, 4> kMeasures = {{
    {"step_s", [](const ExploreRow& r) { return r.step_s > 0 ? 1 / r.step_s : 0; }},
    {"utilisation", [](const ExploreRow& r) { return r.utilisation; }},
    {"flop_per_s_per_usd", [](const ExploreRow& r) { return r.flop_per_s_per_usd(); }},
    {"flop_per_s_per_w", [](const ExploreRow& r) { return r.flop_per_s_per_w(); }},
}};

/// What is not known costs more than anything that is.
double known_or_most(double value) {
  return value > 0 ? value : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<ExploreBest> explore_best(std::span<const ExploreRow> rows) {
  constexpr double kNoise = 1 - 1e-12;
  std::vector<ExploreBest> all;
  for (const ExploreMeasure& measure : kMeasures) {
    double most = 0;
    for (const ExploreRow& row : rows) most = std::max(most, row.fits ? measure.of(row) : 0);
    if (most <= 0) continue;
    std::vector<std::size_t> equal;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].fits && measure.of(rows[i]) >= most * kNoise) equal.push_back(i);
    }
    const auto cheapest = std::min_element(equal.begin(), equal.end(), [&](auto a, auto b) {
      const auto cost = [](const ExploreRow& r) {
        return std::tuple(known_or_most(r.price_usd), known_or_most(r.power_w));
      };
      return cost(rows[a]) < cost(rows[b]);
    });
    all.push_back({measure.name, *cheapest, equal.size() - 1});
  }
  return all;
}

}  // namespace flopcast
