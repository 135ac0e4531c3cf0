// Forecasts of measured points: the fleet that ran, what its clients sent, and what they see of us.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "flopcast/measured/serving.h"
#include "measured/serving/bands.h"
#include "measured/serving/launches.h"

namespace flopcast {
namespace {

using namespace measured;

Result<Deployment> deployment_of_point(const ServingPoint& point, const ServingLayout& layout,
                                       unsigned chips, const Catalog& catalog) {
  const auto engine = parse_serving_engine(point.engine);
  if (!engine) {
    return Diagnostic{ErrorCode::kUsage, point.id,
                      fmt::format("'{}' is no known engine", point.engine), "vllm, sglang, trtllm"};
  }
  Deployment out;
  Result<Model> model = load_model(plain_model(point.model));
  if (!model) return model.error();
  out.model = std::move(*model);
  const MeasuredSystem system = system_of(point.chip);
  const unsigned nodes = (chips + system.chips - 1) / system.chips;
  Result<Cluster> cluster = catalog.cluster(fmt::format("{} x {}", nodes, system.node));
  if (!cluster) return cluster.error();
  out.cluster = std::move(*cluster);
  const Result<ServingPrecision> precision = serving_precision(point.precision, out.model);
  if (!precision) return precision.error();
  out.precision = *precision;
  out.layout = layout;
  // TensorRT-LLM was measured before its 1.3, which chunks prompts.
  constexpr std::string_view kMeasuredTrtllm = "1.2";
  const bool dated = *engine == ServingEngine::kTensorRtLlm;
  out.settings = engine_defaults(*engine, out.model, layout, dated ? kMeasuredTrtllm : "");
  if (!point.version.empty()) out.settings.version = point.version;
  if (const auto problem = apply_launches(point, out)) return *problem;
  return out;
}

/// Forecast of a point, with the factors of others or without.
ServingForecast forecast_point(const ServingPoint& point, const Catalog& catalog,
                               const ServingFactors& factors) {
  ServingForecast out;
  out.point = &point;
  const Result<Fleet> fleet = fleet_of(point, catalog, factors);
  if (!fleet) {
    out.refused = fleet.error().text();
    return out;
  }
  const Result<PreparedFleet> prepared = PreparedFleet::make(*fleet, catalog);
  if (!prepared) {
    out.refused = prepared.error().text();
    return out;
  }
  FleetOptions options;
  options.inter_token = false;
  const Result<FleetRun> run = prepared->run(workload_of(point), options);
  if (!run) {
    out.refused = run.error().text();
    return out;
  }
  out.ttft = run->ttft.mean;
  out.tpot = run->tpot.mean;
  out.basis = prepared->model(point.disaggregated).basis();
  const ServingBands bands = bands_of(point, out.basis);
  out.ttft_low = bands.ttft.low, out.ttft_high = bands.ttft.high;
  out.tpot_low = bands.tpot.low, out.tpot_high = bands.tpot.high;
  return out;
}

/// Points of these are calibrated together.
bool same_deployment(const ServingPoint& a, const ServingPoint& b) {
  return a.engine == b.engine && a.version == b.version && a.model == b.model && a.chip == b.chip &&
         a.precision == b.precision && a.input == b.input && a.output == b.output &&
         a.disaggregated == b.disaggregated && a.layout == b.layout && a.decode == b.decode &&
         a.prefill_workers == b.prefill_workers && a.decode_workers == b.decode_workers;
}

/// Geometric means of measured over forecast; 1 where nothing was measured.
struct Misses {
  double ttft = 1, tpot = 1;
};
Misses misses_of(std::span<const ServingForecast> forecasts) {
  double first = 0, each = 0, firsts = 0, eaches = 0;
  for (const ServingForecast& f : forecasts) {
    if (f.ttft.value > 0 && f.point->ttft.value > 0) {
      first += std::log(f.point->ttft.value / f.ttft.value), ++firsts;
    }
    if (f.tpot.value > 0 && f.point->tpot.value > 0) {
      each += std::log(f.point->tpot.value / f.tpot.value), ++eaches;
    }
  }
  return {firsts > 0 ? std::exp(first / firsts) : 1, eaches > 0 ? std::exp(each / eaches) : 1};
}

/// TPOT is what decodes and the host take, TTFT what prefill takes and the way in and out: each pair is scaled alike, since
/// one point cannot tell its two apart.
void scale_factors(ServingFactors& factors, const Misses& misses) {
  constexpr double kLeast = 0.2, kMost = 5;
  const auto scale = [&](double& factor, double by) {
    factor = std::clamp(factor * by, kLeast, kMost);
  };
  scale(factors.decode, misses.tpot), scale(factors.host, misses.tpot);
  scale(factors.prefill, misses.ttft), scale(factors.front, misses.ttft);
}

}  // namespace

Result<Fleet> fleet_of(const ServingPoint& point, const Catalog& catalog,
                       const ServingFactors& factors) {
  if (point.users <= 0) {
    return Diagnostic{ErrorCode::kUsage, point.id, "it is not told how many users there were",
                      "give concurrency"};
  }
  constexpr std::int64_t kMostUsers = 100'000;  // ten requests of each are simulated
  if (point.users > kMostUsers) {
    return Diagnostic{ErrorCode::kTooLarge, point.id, fmt::format("has {} users", point.users),
                      fmt::format("at most {} are simulated", kMostUsers)};
  }
  if (point.disaggregated && (point.prefill_workers == 0 || point.decode_workers == 0)) {
    return Diagnostic{ErrorCode::kUsage, point.id, "it is not told how many workers there were",
                      "give prefill_num_workers and decode_num_workers"};
  }
  Fleet fleet;
  const unsigned chips = point.chips();
  Result<Deployment> pool = deployment_of_point(point, point.layout, chips, catalog);
  if (!pool) return pool.error();
  fleet.pool = {std::move(*pool), std::max(point.prefill_workers, 1U), factors};
  if (!point.disaggregated) return fleet;
  Result<Deployment> decode = deployment_of_point(point, point.decode, chips, catalog);
  if (!decode) return decode.error();
  fleet.decode = ReplicaPool{std::move(*decode), point.decode_workers, factors};
  return fleet;
}

ServingWorkload workload_of(const ServingPoint& point) {
  const PublicClient& client = public_client();
  ServingWorkload out;
  out.kind = ServingWorkload::Kind::kClosed;
  out.users = point.users;
  out.count = client.requests * point.users;
  out.input = point.input, out.output = point.output;
  if (point.known_protocol) out.spread = client.spread;
  const bool warm = point.known_protocol && point.date >= client.warm_up_since;
  if (warm) out.warm_up = client.warm_up * point.users;
  return out;
}

std::vector<ServingForecast> forecast_points(std::span<const ServingPoint> points,
                                             const Catalog& catalog, unsigned threads) {
  std::vector<ServingForecast> out(points.size());
  parallel_for(points.size(), threads,
               [&](std::size_t i) { out[i] = forecast_point(points[i], catalog, {}); });
  return out;
}

Result<ServingFactors> calibrate_serving(std::span<const ServingPoint> points,
                                         const Catalog& catalog) {
  if (points.empty()) {
    return Diagnostic{ErrorCode::kBadInput, "calibrate", "there is no measured point", "give one"};
  }
  for (const ServingPoint& point : points) {
    if (same_deployment(point, points.front())) continue;
    return Diagnostic{ErrorCode::kBadInput, point.id,
                      fmt::format("is of another deployment than {}", points.front().id),
                      "calibrate one deployment at a time: its points differ in users alone"};
  }
  constexpr int kMostRounds = 12;
  constexpr double kNear = 0.002;
  ServingFactors factors;
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<ServingForecast> forecasts;
    for (const ServingPoint& point : points) {
      forecasts.push_back(forecast_point(point, catalog, factors));
      if (forecasts.back().refused.empty()) continue;
      return Diagnostic{ErrorCode::kNoAnswer, point.id, forecasts.back().refused,
                        "such a point cannot be calibrated"};
    }
    const Misses misses = misses_of(forecasts);
    if (std::abs(misses.ttft - 1) < kNear && std::abs(misses.tpot - 1) < kNear) break;
    scale_factors(factors, misses);
  }
  return factors;
}

std::vector<ServingForecast> forecast_siblings(std::span<const ServingPoint> points,
                                               const Catalog& catalog, unsigned threads) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto found = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
      return same_deployment(points[group.front()], points[i]);
    });
    if (found == groups.end()) {
      groups.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  std::vector<std::vector<ServingForecast>> made(groups.size());
  parallel_for(groups.size(), threads, [&](std::size_t g) {
    std::vector<std::size_t> group = groups[g];
    std::ranges::stable_sort(group, {}, [&](std::size_t i) { return points[i].users; });
    const std::size_t known = group[group.size() / 2];
    if (points[group.front()].users == points[group.back()].users) return;
    const Result<ServingFactors> factors = calibrate_serving({&points[known], 1}, catalog);
    if (!factors) return;
    for (const std::size_t i : group) {
      if (points[i].users == points[known].users) continue;
      made[g].push_back(forecast_point(points[i], catalog, *factors));
    }
  });
  std::vector<ServingForecast> out;
  for (const auto& group : made) out.insert(out.end(), group.begin(), group.end());
  return out;
}

}  // namespace flopcast
