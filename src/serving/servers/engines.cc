// What flags mean together, engine by engine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/format.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "serving/servers/read.h"

namespace flopcast::serving {
namespace {

void not_modelled(LaunchedServer& server, std::string_view what, std::string_view instead) {
  server.flags.unmodelled.push_back(fmt::format("{}: {}", what, instead));
}

void set_setting(LaunchedServer& server, std::string_view name, std::string value) {
  std::erase_if(server.settings, [&](const auto& one) { return one.first == name; });
  server.settings.emplace_back(name, std::move(value));
}

std::optional<std::string> setting_of(const LaunchedServer& server, std::string_view name) {
  for (const auto& [key, value] : server.settings) {
    if (key == name) return value;
  }
  return std::nullopt;
}

/// JSON of a flag's value; null where it is none.
nlohmann::json json_of(const TakenFlags& taken, std::string_view target) {
  const std::optional<std::string> text = taken.value(target);
  if (!text) return nullptr;
  nlohmann::json value = nlohmann::json::parse(*text, nullptr, false);
  return value.is_discarded() ? nlohmann::json(nullptr) : value;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : std::string();
}

std::int64_t whole_in(const nlohmann::json& object, const char* key, std::int64_t otherwise) {
  return object.is_object() && object.contains(key) && object[key].is_number_integer()
             ? object[key].get<std::int64_t>()
             : otherwise;
}

/// "[1, 2, 4]", "1 2 4", "1,2,4" as words.
std::vector<std::string> sizes_in(const std::vector<std::string>& words) {
  std::vector<std::string> sizes;
  for (const std::string& word : words) {
    std::string digits;
    for (const char c : word + ",") {
      if (c >= '0' && c <= '9') {
        digits += c;
      } else if (!digits.empty()) {
        sizes.push_back(std::move(digits));
        digits.clear();
      }
    }
  }
  return sizes;
}

void read_compilation(const nlohmann::json& told, LaunchedServer& server) {
  if (!told.is_object()) return;
  const std::string mode = name_key(text_in(told, "cudagraph_mode"));
  if (mode == "none" || whole_in(told, "level", 3) == 0 || whole_in(told, "mode", 3) == 0) {
    return set_graphs({}, server);
  }
  if (told.contains("cudagraph_capture_sizes") && told["cudagraph_capture_sizes"].is_array()) {
    return set_graphs(sizes_in({told["cudagraph_capture_sizes"].dump()}), server);
  }
  if (const std::int64_t most = whole_in(told, "max_cudagraph_capture_size", 0); most > 0) {
    cut_graphs(most, server);
  }
}

void read_vllm_graphs(const TakenFlags& taken, LaunchedServer& server) {
  if (const auto* sizes = taken.find("@graphs")) set_graphs(sizes_in(*sizes), server);
  if (const std::int64_t most = taken.whole("@graph-most", 0); most > 0) cut_graphs(most, server);
  read_compilation(json_of(taken, "@compilation"), server);
  if (taken.value("@level") == "0") set_graphs({}, server);
  if (taken.value("@eager") == "true") set_graphs({}, server);
}

void read_vllm_drafts(const TakenFlags& taken, LaunchedServer& server) {
  const nlohmann::json told = json_of(taken, "@speculative");
  std::string method = text_in(told, "method");
  if (method.empty()) method = taken.value("@draft-method").value_or("");
  const std::int64_t drafts =
      whole_in(told, "num_speculative_tokens", taken.whole("@draft-tokens", 1));
  const bool other = !text_in(told, "model").empty() || taken.has("@draft-model");
  if (method.empty() && other) method = "draft_model";
  if (!method.empty()) set_drafts(method, drafts, other, server);
}

}  // namespace

void set_graphs(const std::vector<std::string>& sizes, LaunchedServer& server) {
  std::vector<std::int64_t> numbers;
  for (const std::string& size : sizes) {
    if (const auto number = parse_whole(size); number && *number > 0) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  set_setting(server, "graphs", fmt::format("{}", fmt::join(numbers, ",")));
}

void cut_graphs(std::int64_t most, LaunchedServer& server) {
  std::vector<std::int64_t> sizes = engine_defaults(server.engine, {}, server.layout).graphs;
  std::erase_if(sizes, [&](std::int64_t size) { return size > most; });
  if (sizes.empty() || sizes.back() < most) sizes.push_back(most);
  set_setting(server, "graphs", fmt::format("{}", fmt::join(sizes, ",")));
}

void set_types(const TakenFlags& taken, LaunchedServer& server) {
  const std::string cache = taken.value("@kv-cache").value_or("auto");
  const std::string key = name_key(cache);
  if (key.starts_with("fp8")) {
    server.kv_cache = "fp8";
  } else if (key == "bfloat16" || key == "float16" || key == "bf16" || key == "fp16") {
    server.kv_cache = "bf16";
  } else if (key != "auto" && key != "null") {
    not_modelled(server, "keys and values in " + cache, "those of the checkpoint");
  }
  const std::string type = name_key(taken.value("@dtype").value_or("auto"));
  if (type == "float32" || type == "float" || type == "fp32") {
    not_modelled(server, "dtype " + type, "16 bits");
  }
  const std::string given = taken.value("@quantization").value_or("");
  const std::string method = name_key(given);
  if (method.empty() || method == "null" || method == "none") return;
  const auto has = [&](std::string_view part) { return method.find(part) != std::string::npos; };
  if (has("fp4")) {
    server.precision = "fp4";
  } else if (has("fp8") || method == "fbgemmfp8") {
    server.precision = "fp8";
  } else if (has("awq") || has("gptq") || method == "w4a16awq") {
    server.precision = "int4";
  } else if (has("compressedtensors") || method.starts_with("modelopt")) {
    server.notes.push_back(fmt::format("quantization {}: as the checkpoint says", given));
  } else {
    not_modelled(server, "quantization " + given, "the checkpoint's own precision");
  }
}

void set_drafts(std::string_view method, std::int64_t drafts, bool own_draft,
                LaunchedServer& server) {
  const std::string key = name_key(method);
  const bool mtp = key == "nextn" || key.find("mtp") != std::string::npos;
  const bool eagle = key.starts_with("eagle");
  constexpr std::int64_t kMostDrafts = 16;
  if ((!mtp && !eagle) || drafts < 1 || drafts > kMostDrafts) {
    return not_modelled(server, fmt::format("drafts by {} ({} a step)", method, drafts),
                        "nothing is drafted");
  }
  // SGLang calls the model's own layers EAGLE as well: there is no other model then.
  server.draft_kind =
      mtp || (server.engine == ServingEngine::kSglang && !own_draft) ? "mtp" : "eagle";
  server.drafts = drafts;
}

void set_role(std::string_view text, LaunchedServer& server) {
  const std::string key = name_key(text);
  if (key == "prefill" || key == "context") server.role = ServingRole::kPrefill;
  if (key == "decode" || key == "generation") server.role = ServingRole::kDecode;
}

void finish_vllm(const TakenFlags& taken, LaunchedServer& server) {
  ServingLayout& layout = server.layout;
  server.ranks_need_experts = layout.dp > 1;
  layout.ep = taken.value("@experts") == "true" ? layout.tp * layout.dp : 1;
  read_vllm_graphs(taken, server);
  if (const std::int64_t blocks = taken.whole("@blocks", 0); blocks > 0) {
    const std::int64_t block = parse_whole(setting_of(server, "block").value_or("16")).value_or(16);
    set_setting(server, "kv_tokens", std::to_string(blocks * block));
  }
  read_vllm_drafts(taken, server);
  const std::string role = text_in(json_of(taken, "@transfer"), "kv_role");
  if (role == "kv_producer") server.role = ServingRole::kPrefill;
  if (role == "kv_consumer") server.role = ServingRole::kDecode;
}

void finish_sglang(const TakenFlags& taken, LaunchedServer& server) {
  ServingLayout& layout = server.layout;
  const std::int64_t chunk = taken.value("@chunk") == "-1" ? 0 : taken.whole("@chunk", -1);
  if (chunk == 0) set_setting(server, "chunked_prefill", "false");
  if (chunk > 0) set_setting(server, "batch_tokens", std::to_string(chunk));
  if (taken.has("@exchange") && taken.value("@exchange") != "none") layout.ep = layout.tp;
  const unsigned ranks = std::max(layout.dp, 1U);
  if (taken.value("@attention-ranks") == "true") {
    // All of a replica's chips are told as tp; chunks and requests are those of all ranks together.
    constexpr double kConservativenessOfRanks = 0.3;
    layout.tp = std::max(1U, layout.tp / ranks);
    for (const char* shared : {"batch_tokens", "max_requests"}) {
      const auto all = parse_whole(setting_of(server, shared).value_or(""));
      if (all) set_setting(server, shared, std::to_string(std::max<std::int64_t>(1, *all / ranks)));
    }
    const auto told = parse_number(setting_of(server, "conservativeness").value_or(""));
    if (told)
      set_setting(server, "conservativeness", exact_number(*told * kConservativenessOfRanks));
  } else if (ranks > 1) {
    layout.dp = 1;
    server.replicas = std::max<std::int64_t>(server.replicas, 1) * ranks;
  }
  if (const auto* sizes = taken.find("@graphs")) set_graphs(sizes_in(*sizes), server);
  if (const std::int64_t most = taken.whole("@graph-most", 0); most > 0) cut_graphs(most, server);
  if (taken.value("@eager") == "true") set_graphs({}, server);
  if (const auto method = taken.value("@draft-method")) {
    set_drafts(*method, taken.whole("@draft-tokens", 3), taken.has("@draft-model"), server);
  }
  set_role(taken.value("@role").value_or(""), server);
}

void finish_trtllm(const TakenFlags& taken, LaunchedServer& server) {
  ServingLayout& layout = server.layout;
  if (taken.value("@attention-ranks") == "true") {
    layout.dp = layout.tp;  // every chip has requests of its own
    layout.tp = 1;
  }
  if (const auto* sizes = taken.find("@graphs")) set_graphs(sizes_in(*sizes), server);
  if (const std::int64_t most = taken.whole("@graph-most", 0); most > 0 && !taken.has("@graphs")) {
    cut_graphs(most, server);
  }
  const bool none = taken.value("@graphs-none") == "null" || taken.value("@captures") == "false";
  if (none) set_graphs({}, server);
  if (taken.value("@padding") == "false") {
    not_modelled(server, "batches of captured sizes alone", "batches padded to captured sizes");
  }
  const std::string policy = name_key(taken.value("@capacity").value_or(""));
  if (policy == "maxutilization") set_setting(server, "capacity", "max-utilisation");
  if (policy == "guaranteednoevict") set_setting(server, "capacity", "no-evict");
  if (policy == "staticbatch") not_modelled(server, "STATIC_BATCH", "GUARANTEED_NO_EVICT");
  const std::string backend = name_key(taken.value("@backend").value_or("pytorch"));
  if (backend != "pytorch") not_modelled(server, "backend " + backend, "the PyTorch backend");
  if (const auto method = taken.value("@draft-method")) {
    set_drafts(*method, taken.whole("@draft-tokens", 1), true, server);
  }
  set_role(taken.value("@role").value_or(""), server);
}

}  // namespace flopcast::serving
