// Measured maxima of throughput: every request is there at the start.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files/read_file.h"
#include "measured/serving/launches.h"
#include "measured/serving/points.h"

namespace flopcast {
namespace {

using nlohmann::json;
using namespace measured;

std::int64_t offline_requests(const OfflinePoint& point) {
  const OfflineRuns& runs = offline_runs();
  const auto known = runs.counts.find({point.input, point.output});
  return known != runs.counts.end() ? known->second : runs.requests;
}

Result<OfflinePoint> read_offline(const json& row, const std::string& where) {
  const auto word = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto number = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  constexpr double kMost = 1e8, kMostDegree = 4096;
  OfflinePoint out;
  const double tp = row.is_object() ? number("tp") : 0;
  if (row.is_object()) {
    out.model = word("model"), out.chip = word("gpu"), out.precision = word("weights");
    out.tokens_per_s = number("output_tokens_per_s");
    const double input = number("isl"), output = number("osl");
    if (input >= 1 && input <= kMost) out.input = static_cast<std::int64_t>(input);
    if (output >= 1 && output <= kMost) out.output = static_cast<std::int64_t>(output);
  }
  const bool told = !out.model.empty() && !out.chip.empty() && out.input > 0 && out.output > 0;
  if (!told || !(tp >= 1 && tp <= kMostDegree) || !(out.tokens_per_s > 0)) {
    return Diagnostic{
        ErrorCode::kBadInput, where,
        "expected model, gpu, weights, tp, isl, osl and output_tokens_per_s, found not all of them",
        "docs/reference/serving.md has the fields"};
  }
  out.layout.tp = static_cast<unsigned>(tp);
  return out;
}

std::string machine_of(const OfflinePoint& point) {
  std::string key = point.chip;
  std::ranges::transform(key, key.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  MeasuredSystem system = system_of(key);
  if (system.node == key) system = system_of(key + "_sxm");
  return fmt::format("{} x {}", (point.layout.chips() + system.chips - 1) / system.chips,
                     system.node);
}

bool has_experts(const Model& model) {
  return std::ranges::any_of(model.kinds,
                             [](const Layer& layer) { return layer.experts.count > 0; });
}

Result<Deployment> offline_deployment(const OfflinePoint& point, const Catalog& catalog) {
  Deployment out;
  Result<Model> model = load_model(plain_model(point.model));
  if (!model) return model.error();
  out.model = std::move(*model);
  Result<Cluster> cluster = catalog.cluster(machine_of(point));
  if (!cluster) return cluster.error();
  out.cluster = std::move(*cluster);
  const Result<ServingPrecision> precision = serving_precision(point.precision, out.model);
  if (!precision) return precision.error();
  out.precision = *precision;
  const OfflineRuns& runs = offline_runs();
  if (runs.kv_cache) out.precision.kv_cache = *runs.kv_cache;
  out.layout = point.layout;
  // enable_attention_dp and --ep of its llm_options for models with experts
  if (has_experts(out.model)) out.layout = {1, point.layout.tp, point.layout.tp, 1};
  out.settings = engine_defaults(ServingEngine::kTensorRtLlm, out.model, out.layout, "1.0");
  out.settings.prefix_cache = false;
  out.settings.memory_share = runs.memory_share;
  out.settings.max_requests = runs.max_requests;
  // a whole prompt fits beside all answers
  out.settings.batch_tokens = std::max(runs.batch_tokens, point.input + runs.max_requests);
  return out;
}

/// Tokens of answers a second.
Result<double> offline_rate(const OfflinePoint& point, const Catalog& catalog) {
  Result<Deployment> deployment = offline_deployment(point, catalog);
  if (!deployment) return deployment.error();
  Fleet fleet;
  fleet.pool.deployment = std::move(*deployment);
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.trace.requests.assign(static_cast<std::size_t>(offline_requests(point)),
                                 ServingRequest{Time{}, point.input, point.output, 0, 0, 0});
  FleetOptions options;
  options.inter_token = false;
  const Result<FleetRun> run = simulate(fleet, workload, catalog, options);
  if (!run) return run.error();
  return run->output_tokens_per_s;
}

}  // namespace

Result<std::vector<OfflinePoint>> read_offline_points(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  const Result<json> document = document_of(*text, path.string());
  if (!document) return document.error();
  std::vector<OfflinePoint> points;
  if (!document->is_object() || !document->contains("trtllm_max_throughput")) return points;
  const json& list = (*document)["trtllm_max_throughput"];
  for (std::size_t i = 0; i < list.size() && list.is_array(); ++i) {
    const std::string where = fmt::format("{}: trtllm_max_throughput {}", path.string(), i + 1);
    Result<OfflinePoint> point = read_offline(list[i], where);
    if (!point) return point.error();
    points.push_back(std::move(*point));
  }
  return points;
}

void forecast_offline(std::span<OfflinePoint> points, const Catalog& catalog, unsigned threads) {
  parallel_for(points.size(), threads, [&](std::size_t i) {
    OfflinePoint& point = points[i];
    const Result<Model> model = load_model(plain_model(point.model));
    point.experts = model && has_experts(*model);
    const Result<double> rate = offline_rate(point, catalog);
    if (rate) point.forecast = *rate;
    if (!rate) point.refused = rate.error().text();
  });
}

}  // namespace flopcast
