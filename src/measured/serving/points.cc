// Reads measured points of deployments, and layouts whose labels contradict each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files/read_file.h"
#include "measured/serving/layouts.h"
#include "measured/serving/points.h"

namespace flopcast {
namespace {

using nlohmann::json;
using namespace measured;

constexpr std::string_view kPointHint = "docs/reference/serving.md has the fields of a point";
/// Counts and lengths beyond these are a mistake, and would overflow what is computed of them.
constexpr double kMostOfACount = 1e8;
constexpr std::size_t kLongestWord = 1000;

std::string word_of(const json& point, const char* key) {
  const auto found = point.find(key);
  if (found == point.end() || !found->is_string()) return "";
  return found->get_ref<const std::string&>().substr(0, kLongestWord);
}

/// 0 where it is not told: absent or null.
double figure_of(const json& point, const char* key) {
  const auto found = point.find(key);
  return found != point.end() && found->is_number() ? found->get<double>() : 0;
}

std::int64_t count_of(const json& point, const char* key) {
  return static_cast<std::int64_t>(figure_of(point, key));
}

/// What of the numbers that are read cannot be meant; empty: nothing.
std::string senseless_figure(const json& point) {
  for (const auto& [key, value] : point.items()) {
    if (!value.is_number()) continue;
    const double number = value.get<double>();
    if (!(number >= 0 && number <= kMostOfACount)) return key;
  }
  return "";
}

LayoutLabels labels_of(const json& point, const std::string& prefix) {
  const auto label = [&](const char* key) {
    constexpr std::int64_t kMostChips = 4096;  // of one degree
    return static_cast<unsigned>(std::min(count_of(point, (prefix + key).c_str()), kMostChips));
  };
  return {label("tp_size"), label("attention_dp_size"), label("moe_tp_size"), label("moe_ep_size"),
          label("pp_size")};
}

/// Where no precision is told, the linear layers' is.
std::string precision_of(const json& point) {
  std::string told = word_of(point, "precision");
  if (!told.empty()) return told;
  const std::string gemm = word_of(point, "gemm_quant_mode");
  if (gemm.starts_with("fp8")) return "fp8";
  if (gemm.find("fp4") != std::string::npos) return "fp4";
  if (gemm.starts_with("int4")) return "int4";
  return "bf16";
}

/// The client of these rows is public (SemiAnalysisAI/InferenceX benchmarks/benchmark_lib.sh): they are dated and of its
/// three pairs of lengths. Rows of other clients have no date, tell no users, or have other lengths.
bool of_the_public_client(const ServingPoint& point) {
  constexpr std::int64_t kShort = 1024, kLong = 8192;
  const bool lengths =
      (point.input == kShort && (point.output == kShort || point.output == kLong)) ||
      (point.input == kLong && point.output == kShort);
  return !point.date.empty() && point.users > 0 && lengths;
}

void read_layouts(const json& point, ServingPoint& out) {
  const auto read = [&](const std::string& prefix, ServingLayout& layout) {
    const ReadLayout made = layout_of(labels_of(point, prefix), out);
    layout = made.layout;
    if (!made.repaired.empty()) out.repaired = prefix + made.repaired;
  };
  if (!out.disaggregated) return read("", out.layout);
  read("prefill_", out.layout);
  read("decode_", out.decode);
  out.prefill_workers = static_cast<unsigned>(count_of(point, "prefill_num_workers"));
  out.decode_workers = static_cast<unsigned>(count_of(point, "decode_num_workers"));
}

Result<ServingPoint> read_point(const json& point, const std::string& where) {
  if (!point.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, where, "expected an object", std::string(kPointHint)};
  }
  if (const std::string key = senseless_figure(point); !key.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      fmt::format("{} is below 0 or above {:g}", key, kMostOfACount),
                      std::string(kPointHint)};
  }
  ServingPoint out;
  out.id = word_of(point, "id");
  out.engine = word_of(point, "backend");
  out.version = word_of(point, "backend_version");
  out.model = word_of(point, "model_path");
  out.chip = word_of(point, "system");
  out.precision = precision_of(point);
  out.date = word_of(point, "date");
  out.origin = word_of(point, "origin");
  out.disaggregated = word_of(point, "mode") == "disagg";
  out.input = count_of(point, "isl");
  out.output = count_of(point, "osl");
  out.users = count_of(point, "concurrency");
  out.gemm = word_of(point, "gemm_quant_mode");
  out.experts = word_of(point, "moe_quant_mode");
  out.ttft = Seconds{figure_of(point, "silicon_ttft_ms") * 1e-3};
  out.tpot = Seconds{figure_of(point, "silicon_tpot_ms") * 1e-3};
  out.known_protocol = of_the_public_client(out);
  if (out.engine.empty() || out.model.empty() || out.chip.empty() || out.input <= 0 ||
      out.output <= 0) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      "expected backend, model_path, system, isl and osl, found not all of them",
                      std::string(kPointHint)};
  }
  read_layouts(point, out);
  if (out.id.empty()) out.id = where;
  return out;
}

}  // namespace

unsigned ServingPoint::chips() const {
  if (!disaggregated) return layout.chips();
  return layout.chips() * std::max(prefill_workers, 1U) +
         decode.chips() * std::max(decode_workers, 1U);
}

double ServingPoint::throughput(Seconds first, Seconds each) const {
  const double answer = first.value + each.value * static_cast<double>(output - 1);
  if (users <= 0 || first.value <= 0 || each.value <= 0) return 0;
  return static_cast<double>(users * output) / (answer * chips());
}

Result<json> measured::document_of(std::string_view text, const std::string& where) {
  json document = json::parse(text, nullptr, false);
  if (document.is_object() || document.is_array()) return document;
  return Diagnostic{ErrorCode::kBadInput, where,
                    "expected measured points: JSON with a list \"points\", found no JSON",
                    std::string(kPointHint)};
}

Result<std::vector<ServingPoint>> parse_serving_points(std::string_view text,
                                                       const std::string& where) {
  const Result<json> document = document_of(text, where);
  if (!document) return document.error();
  const json none = json::array();
  const json& list = document->is_array()           ? *document
                     : document->contains("points") ? (*document)["points"]
                                                    : none;
  if (!list.is_array() || list.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      "expected measured points: JSON with a list \"points\", found none",
                      std::string(kPointHint)};
  }
  std::vector<ServingPoint> points;
  points.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    Result<ServingPoint> point = read_point(list[i], fmt::format("{}: point {}", where, i + 1));
    if (!point) return point.error();
    points.push_back(std::move(*point));
  }
  return points;
}

Result<std::vector<ServingPoint>> read_serving_points(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_serving_points(*text, path.string());
}

}  // namespace flopcast
