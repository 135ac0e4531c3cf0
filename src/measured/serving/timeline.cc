// Measured timelines of one engine: what it was, what came when, and what the simulator makes of the same arrivals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files/read_file.h"
#include "base/numeric/clock.h"
#include "flopcast/measured/serving.h"

namespace flopcast {
namespace {

using nlohmann::json;

constexpr std::string_view kTimelineHint =
    "lines of {\"input_toks\", \"output_toks\", \"queued_ts\", \"first_token_ts\", "
    "\"last_token_ts\"}, seconds";

struct TimelineRow {
  std::int64_t input = 0, output = 0;
  double queued = 0, first = 0, last = 0;
};

Diagnostic bad_line(const std::string& where, std::size_t line, std::string what) {
  return {ErrorCode::kBadInput, fmt::format("{}:{}", where, line), std::move(what),
          std::string(kTimelineHint)};
}

Result<TimelineRow> timeline_row(std::string_view text, const std::string& where,
                                 std::size_t line) {
  const json row = json::parse(text, nullptr, false);
  if (!row.is_object()) return bad_line(where, line, "expected a JSON object");
  std::array<double, 5> values{};
  constexpr std::array kKeys = {"input_toks", "output_toks", "queued_ts", "first_token_ts",
                                "last_token_ts"};
  constexpr double kLatest = 1e10, kMostTokens = 1e8;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const auto found = row.find(kKeys[i]);
    if (found == row.end() || !found->is_number()) {
      return bad_line(where, line, fmt::format("has no number {}", kKeys[i]));
    }
    values[i] = found->get<double>();
    const double most = i < 2 ? kMostTokens : kLatest;
    if (!(values[i] >= 0 && values[i] <= most)) {
      return bad_line(where, line, fmt::format("{} is below 0 or above {:g}", kKeys[i], most));
    }
  }
  TimelineRow out{static_cast<std::int64_t>(values[0]), static_cast<std::int64_t>(values[1]),
                  values[2], values[3], values[4]};
  if (out.input < 1 || out.output < 1 || out.first < out.queued || out.last < out.first) {
    return bad_line(where, line, "no tokens, or times that do not follow each other");
  }
  return out;
}

Time time_of(double seconds) { return on_clock({seconds}); }

ServingTimeline timeline_of(std::vector<TimelineRow> rows) {
  std::ranges::stable_sort(rows, {}, &TimelineRow::queued);
  const double begin = rows.empty() ? 0 : rows.front().queued;
  ServingTimeline out;
  for (const TimelineRow& row : rows) {
    out.requests.requests.push_back({time_of(row.queued - begin), row.input, row.output, 0, 0, 0});
    out.ttft.push_back(time_of(row.first - row.queued));
    out.latency.push_back(time_of(row.last - row.queued));
    const auto gaps = static_cast<double>(std::max<std::int64_t>(row.output - 1, 1));
    out.tpot.push_back(time_of((row.last - row.first) / gaps));
  }
  return out;
}

std::string meta_word(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t meta_count(const json& object, const char* key) {
  constexpr double kMost = 1e12;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return value >= 0 && value <= kMost ? static_cast<std::int64_t>(value) : 0;
}

const json& meta_part(const json& object, const char* key) {
  static const json kNone = json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

/// Told, or the first word of the file's name that is a chip: "vllm_measured_RTX4090_Llama-3.1-8B.meta.json".
std::string chip_of_timeline(const std::filesystem::path& meta, const json& document,
                             std::string_view chip, const Catalog& catalog) {
  if (!chip.empty()) return std::string(chip);
  const std::string told = meta_word(meta_part(document, "hardware"), "device_name");
  if (!told.empty()) return told;
  const std::string name = meta.filename().string();
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('_', at), name.size());
    const std::string word = name.substr(at, end - at);
    if (word.size() > 3 && catalog.chip(word)) return word;
    at = end + 1;
  }
  return "";
}

/// Experts over all chips where the engine was told to.
ServingLayout layout_of_timeline(const json& launch) {
  ServingLayout layout;
  constexpr std::int64_t kMostDegree = 4096;
  const auto degree = [&](const char* key) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(meta_count(launch, key), 1, kMostDegree));
  };
  layout.tp = degree("tensor_parallel_size");
  layout.dp = degree("data_parallel_size");
  const auto parallel = launch.find("enable_expert_parallel");
  const bool experts = parallel != launch.end() && parallel->is_boolean() && parallel->get<bool>();
  if (experts) layout.ep = layout.tp * layout.dp;
  return layout;
}

void put_engine_settings(const json& document, EngineSettings& settings) {
  const json& launch = meta_part(document, "engine_kwargs");
  const json& cache = meta_part(document, "kv_cache");
  settings.version = meta_word(document, "vllm_version");
  const auto put = [](std::int64_t& to, std::int64_t told) {
    if (told > 0) to = told;
  };
  put(settings.batch_tokens, meta_count(launch, "max_num_batched_tokens"));
  put(settings.max_requests, meta_count(launch, "max_num_seqs"));
  put(settings.block, meta_count(cache, "block_size"));
  put(settings.kv_tokens, meta_count(cache, "num_kv_tokens"));
  if (const auto share = cache.find("gpu_memory_utilization");
      share != cache.end() && share->is_number()) {
    settings.memory_share = std::clamp(share->get<double>(), 0.0, 1.0);
  }
}

}  // namespace

Result<ServingTimeline> parse_serving_timeline(std::string_view text, const std::string& where) {
  std::vector<TimelineRow> rows;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    at = end + 1;
    ++line;
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Result<TimelineRow> read = timeline_row(row, where, line);
    if (!read) return read.error();
    rows.push_back(*read);
  }
  if (rows.empty()) return bad_line(where, 1, "there is no request");
  constexpr double kLongestSpan = 1e6;  // picoseconds of it fit in a Time
  const auto begin = std::ranges::min(rows, {}, &TimelineRow::queued).queued;
  const auto last = std::ranges::max_element(rows, {}, &TimelineRow::last);
  if (last->last - begin > kLongestSpan) {
    return bad_line(where, static_cast<std::size_t>(last - rows.begin()) + 1,
                    fmt::format("is more than {:g} s behind the first", kLongestSpan));
  }
  return timeline_of(std::move(rows));
}

Result<ServingTimeline> read_serving_timeline(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_serving_timeline(*text, path.string());
}

Result<Deployment> timeline_deployment(const std::filesystem::path& meta, std::string_view chip,
                                       const Catalog& catalog) {
  const Result<std::string> text = read_file(meta);
  if (!text) return text.error();
  const json document = json::parse(*text, nullptr, false);
  if (!document.is_object() || !document.contains("engine_kwargs")) {
    return Diagnostic{ErrorCode::kBadInput, meta.string(),
                      "expected a JSON object with engine_kwargs",
                      "docs/reference/serving.md has its fields"};
  }
  const json& launch = meta_part(document, "engine_kwargs");
  Deployment out;
  Result<Model> model = load_model(meta_word(launch, "model"));
  if (!model) return model.error();
  out.model = std::move(*model);
  out.layout = layout_of_timeline(launch);
  const std::string name = chip_of_timeline(meta, document, chip, catalog);
  if (name.empty()) {
    return Diagnostic{ErrorCode::kUsage, meta.string(), "does not tell which chip it was",
                      "name it with --chip"};
  }
  Result<Cluster> cluster = catalog.cluster(fmt::format("{} x {}", out.layout.chips(), name));
  if (!cluster) return cluster.error();
  out.cluster = std::move(*cluster);
  const std::string type = meta_word(launch, "quantization");
  const Result<ServingPrecision> precision =
      serving_precision(type.empty() ? "bf16" : type, out.model);
  if (!precision) return precision.error();
  out.precision = *precision;
  if (meta_word(launch, "kv_cache_dtype").starts_with("fp8"))
    out.precision.kv_cache = DataType::kFp8;
  out.settings = engine_defaults(ServingEngine::kVllm, out.model, out.layout);
  put_engine_settings(document, out.settings);
  return out;
}

Result<TimelineForecast> forecast_timeline(const ServingTimeline& timeline,
                                           const Deployment& deployment, const Catalog& catalog) {
  Fleet fleet;
  fleet.pool.deployment = deployment;
  fleet.pool.factors.front = 0;  // the timeline's clock is the engine's
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.trace = timeline.requests;
  const Result<PreparedFleet> prepared = PreparedFleet::make(fleet, catalog);
  if (!prepared) return prepared.error();
  const Result<FleetRun> run = prepared->run(workload);
  if (!run) return run.error();
  TimelineForecast out;
  std::vector<Time> ttft = timeline.ttft, tpot = timeline.tpot, latency = timeline.latency;
  Time end;
  double tokens = 0;
  for (std::size_t i = 0; i < timeline.latency.size(); ++i) {
    end = std::max(end, timeline.requests.requests[i].arrival + timeline.latency[i]);
    tokens += static_cast<double>(timeline.requests.requests[i].output);
  }
  out.measured_ttft = percentiles_of(ttft);
  out.measured_tpot = percentiles_of(tpot);
  out.measured_latency = percentiles_of(latency);
  out.ttft = run->ttft, out.tpot = run->tpot, out.latency = run->latency;
  out.output_tokens_per_s = run->output_tokens_per_s;
  if (end.ps > 0) out.measured_output_tokens_per_s = tokens / end.seconds();
  out.kv_blocks = run->kv_blocks;
  out.preemptions = run->counts.preemptions;
  out.basis = prepared->model().basis();
  return out;
}

}  // namespace flopcast
