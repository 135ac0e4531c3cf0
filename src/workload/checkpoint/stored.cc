// What the makers of quantised checkpoints write down: transformers' quantization_config (fp8, mxfp4, AWQ, GPTQ,
// FBGEMM), vLLM's compressed-tensors, NVIDIA's ModelOpt, AMD's Quark.
#include "workload/checkpoint/stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "workload/checkpoint/modules.h"
#include "workload/checkpoint/name_patterns.h"

namespace flopcast::workload {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

/// Modules and what they are stored in. Empty `targets`: all that no other group names.
struct Group {
  Names targets;
  GemmType type = GemmType::kBf16;
};

/// What a file says, whoever made it.
struct Scheme {
  std::string method, unread;
  std::vector<Group> groups;
  Names left_out;
  bool experts_alone = false;  ///< whatever the groups name
  std::optional<DataType> kv_cache;
};

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Json* value = member(object, key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
  }
  return "";
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

double number_of(const Json& object, const char* key, double otherwise) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number() ? value->get<double>() : otherwise;
}

bool is_on(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

Names names_of(const Json* list) {
  Names names;
  if (list == nullptr || !list->is_array()) return names;
  for (const Json& entry : *list) {
    if (entry.is_string()) names.push_back(entry.get<std::string>());
  }
  return names;
}

void read_left_out(const Json& config, Scheme& scheme) {
  for (const char* key :
       {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "exclude"}) {
    const Names more = names_of(member(config, key));
    scheme.left_out.insert(scheme.left_out.end(), more.begin(), more.end());
  }
}

/// One type for all but what is left out.
void store_all_in(Scheme& scheme, GemmType type) { scheme.groups = {{{}, type}}; }

void read_fp8(const Json& config, Scheme& scheme) {
  const Json* block = member(config, "weight_block_size");
  const std::string activations = lower(text_of(config, {"activation_scheme"}));
  if (block == nullptr) {
    return store_all_in(scheme, activations == "static" ? GemmType::kFp8Static : GemmType::kFp8);
  }
  const bool usual =
      block->is_array() && block->size() == 2 && (*block)[0] == 128 && (*block)[1] == 128;
  store_all_in(scheme, GemmType::kFp8Block);
  if (!usual) scheme.unread = fmt::format("blocks of {} for a scale", block->dump());
}

void read_integers(const Json& config, Scheme& scheme) {
  const double bits = number_of(config, "bits", number_of(config, "w_bit", 4));
  if (bits == 4) return store_all_in(scheme, GemmType::kInt4WeightOnly);
  if (bits == 8) return store_all_in(scheme, GemmType::kInt8WeightOnly);
  scheme.unread = fmt::format("{} of {} bits", scheme.method, bits);
}

/// Of compressed-tensors: what weights and their inputs are in. None: a pair that nothing here prices.
std::optional<GemmType> compressed_type(const Json& group) {
  const Json* weights = member(group, "weights");
  if (weights == nullptr) return std::nullopt;
  const Json* inputs = member(group, "input_activations");
  const double bits = number_of(*weights, "num_bits", 0),
               size = number_of(*weights, "group_size", 0);
  const bool floats = lower(text_of(*weights, {"type"})) == "float";
  const std::string strategy = lower(text_of(*weights, {"strategy"}));
  if (bits == 8 && !floats) {
    return inputs == nullptr ? GemmType::kInt8WeightOnly : GemmType::kSmoothQuant;
  }
  if (bits == 8) {
    if (strategy == "block") return GemmType::kFp8Block;
    if (strategy == "group") return std::nullopt;
    return inputs != nullptr && !is_on(*inputs, "dynamic") ? GemmType::kFp8Static : GemmType::kFp8;
  }
  if (bits != 4) return std::nullopt;
  if (!floats) return inputs == nullptr ? std::optional(GemmType::kInt4WeightOnly) : std::nullopt;
  if (size == 32) {
    if (inputs == nullptr) return GemmType::kMxfp4Weight;
    if (number_of(*inputs, "num_bits", 0) == 8) return GemmType::kMxfp4Mxfp8;
    return std::nullopt;
  }
  return inputs != nullptr && size == 16 ? std::optional(GemmType::kNvfp4) : std::nullopt;
}

/// "Linear" names every product; other words are modules.
Names targets_of(const Json& group) {
  Names names = names_of(member(group, "targets"));
  if (std::ranges::find(names, "Linear") != names.end()) names.clear();
  return names;
}

void read_groups(const Json& config, Scheme& scheme) {
  const Json* groups = member(config, "config_groups");
  if (groups == nullptr || !groups->is_object() || groups->empty()) {
    scheme.unread = "no config_groups";
    return;
  }
  for (const auto& [key, group] : groups->items()) {
    const std::optional<GemmType> type = compressed_type(group);
    if (!type) {
      scheme.unread =
          fmt::format("{}: its weights and inputs are in a pair of types that is not priced", key);
      return;
    }
    scheme.groups.push_back({targets_of(group), *type});
  }
}

struct Algorithm {
  std::string_view name;
  GemmType type;
};
// NVIDIA TensorRT Model Optimizer's quant_algo.
constexpr std::array kAlgorithms = {
    Algorithm{"fp8", GemmType::kFp8Static},
    Algorithm{"fp8_pb_wo", GemmType::kFp8Block},
    Algorithm{"fp8_block_scales", GemmType::kFp8Block},
    Algorithm{"fp8_per_channel_per_token", GemmType::kFp8},
    Algorithm{"nvfp4", GemmType::kNvfp4},
    Algorithm{"nvfp4_awq", GemmType::kNvfp4},
    Algorithm{"w4a8_mxfp4_fp8", GemmType::kMxfp4Mxfp8},
    Algorithm{"w4a8_mxfp4_mxfp8", GemmType::kMxfp4Mxfp8},
    Algorithm{"w4a16_mxfp4", GemmType::kMxfp4Weight},
    Algorithm{"int4_awq", GemmType::kInt4WeightOnly},
    Algorithm{"w4a16_awq", GemmType::kInt4WeightOnly},
    Algorithm{"w8a16", GemmType::kInt8WeightOnly},
    Algorithm{"w8a8_sq_per_channel", GemmType::kSmoothQuant},
};

std::optional<GemmType> algorithm_type(const std::string& text) {
  const std::string key = lower(text);
  const auto found = std::ranges::find(kAlgorithms, key, &Algorithm::name);
  return found == kAlgorithms.end() ? std::nullopt : std::optional(found->type);
}

/// MIXED_PRECISION: an algorithm for each module.
void read_each_module(const Json& config, Scheme& scheme) {
  const Json* modules = member(config, "quantized_layers");
  if (modules == nullptr || !modules->is_object()) {
    scheme.unread = "mixed precision without quantized_layers";
    return;
  }
  for (const auto& [module, told] : modules->items()) {
    const std::string algorithm = text_of(told, {"quant_algo"});
    const std::optional<GemmType> type = algorithm_type(algorithm);
    if (!type) {
      scheme.unread = fmt::format("{} of {} is not priced", algorithm, module);
      return;
    }
    const auto same = std::ranges::find(scheme.groups, *type, &Group::type);
    if (same != scheme.groups.end()) {
      same->targets.push_back(module);
    } else {
      scheme.groups.push_back({{module}, *type});
    }
  }
}

void read_modelopt_scheme(const Json& config, Scheme& scheme) {
  const std::string algorithm = text_of(config, {"quant_algo"});
  if (algorithm.empty() && member(config, "config_groups") != nullptr) {
    return read_groups(config, scheme);
  }
  if (lower(algorithm) == "mixed_precision") return read_each_module(config, scheme);
  if (const auto type = algorithm_type(algorithm)) return store_all_in(scheme, *type);
  scheme.unread = fmt::format("quant_algo '{}' is not priced", algorithm);
}

void read_quark(const Json& config, Scheme& scheme) {
  const Json* global = member(config, "global_quant_config");
  const Json* weight = global == nullptr ? nullptr : member(*global, "weight");
  const Json* input = global == nullptr ? nullptr : member(*global, "input_tensors");
  const std::string type = weight == nullptr ? "" : lower(text_of(*weight, {"dtype"}));
  if (type == "fp8_e4m3") {
    const bool fixed =
        input != nullptr && member(*input, "is_dynamic") != nullptr && !is_on(*input, "is_dynamic");
    return store_all_in(scheme, fixed ? GemmType::kFp8Static : GemmType::kFp8);
  }
  if (type == "fp4" && number_of(*weight, "group_size", 0) == 32 && input == nullptr) {
    return store_all_in(scheme, GemmType::kMxfp4Weight);
  }
  scheme.unread = fmt::format("weights of '{}' are not priced", type);
}

void read_bits_and_bytes(const Json& config, Scheme& scheme) {
  scheme.unread = is_on(config, "load_in_8bit") || is_on(config, "_load_in_8bit")
                      ? "LLM.int8 is not priced"
                      : "4-bit normal floats are not priced";
}

struct Method {
  std::string_view name;
  void (*read)(const Json& config, Scheme& scheme);
};
constexpr std::array kMethods = {
    Method{"awq", read_integers},
    Method{"auto-round", read_integers},
    Method{"bitsandbytes", read_bits_and_bytes},
    Method{"compressed-tensors", read_groups},
    Method{"fbgemm_fp8", [](const Json&, Scheme& s) { store_all_in(s, GemmType::kFp8); }},
    Method{"fp8", read_fp8},
    Method{"gptq", read_integers},
    Method{"modelopt", read_modelopt_scheme},
    Method{"modelopt_fp4", read_modelopt_scheme},
    Method{"mxfp4",
           [](const Json&, Scheme& s) {
             store_all_in(s, GemmType::kMxfp4Weight);
             s.experts_alone = true;
           }},
    Method{"quark", read_quark},
};

/// "kv_cache_quant_algo": "FP8", "kv_cache_scheme": {"num_bits": 8, "type": "float"}.
std::optional<DataType> kv_cache_of(const Json& config) {
  const std::string algorithm = lower(text_of(config, {"kv_cache_quant_algo", "kv_cache_dtype"}));
  if (algorithm.starts_with("fp8")) return DataType::kFp8;
  if (algorithm == "int8") return DataType::kInt8;
  if (algorithm == "nvfp4") return DataType::kFp4;
  const Json* scheme = member(config, "kv_cache_scheme");
  if (scheme == nullptr) return std::nullopt;
  if (scheme->is_string()) return parse_data_type(lower(scheme->get<std::string>()));
  if (number_of(*scheme, "num_bits", 0) != 8) return std::nullopt;
  return lower(text_of(*scheme, {"type"})) == "int" ? DataType::kInt8 : DataType::kFp8;
}

Scheme scheme_of(const Json& config) {
  Scheme scheme;
  scheme.method = lower(text_of(config, {"quant_method"}));
  if (scheme.method.empty() && member(config, "quant_algo") != nullptr) scheme.method = "modelopt";
  if (scheme.method.empty() && member(config, "config_groups") != nullptr) {
    scheme.method = "compressed-tensors";
  }
  const auto known = std::ranges::find(kMethods, scheme.method, &Method::name);
  if (known == kMethods.end()) {
    if (scheme.method.empty()) scheme.method = "unnamed";
    scheme.unread = "this way of storing weights is not known";
    return scheme;
  }
  known->read(config, scheme);
  read_left_out(config, scheme);
  scheme.kv_cache = kv_cache_of(config);
  return scheme;
}

/// A scheme's names, ready to be asked.
struct Asked {
  explicit Asked(const Scheme& of) : scheme(of), left_out(of.left_out) {
    for (const Group& group : of.groups) targets.emplace_back(group.targets);
  }
  std::string unread() const {
    const auto bad = std::ranges::find_if(
        targets, [](const NamePatterns& names) { return !names.unread().empty(); });
    return bad != targets.end() ? bad->unread() : left_out.unread();
  }

  const Scheme& scheme;
  NamePatterns left_out;
  std::vector<NamePatterns> targets;  ///< of each group
};

bool any_named(const NamePatterns& patterns, const StoredModule& module) {
  return std::ranges::any_of(module.names,
                             [&](const std::string& name) { return patterns.name(name); });
}

/// A group that names a module comes before one that takes all.
GemmType type_of(const Asked& asked, const StoredModule& module) {
  if (asked.scheme.experts_alone && module.weights != WeightClass::kExperts) return GemmType::kBf16;
  if (any_named(asked.left_out, module)) return GemmType::kBf16;
  GemmType otherwise = GemmType::kBf16;
  for (std::size_t i = 0; i < asked.targets.size(); ++i) {
    const GemmType type = asked.scheme.groups[i].type;
    if (asked.targets[i].empty()) {
      otherwise = type;
    } else if (any_named(asked.targets[i], module)) {
      return type;
    }
  }
  return otherwise;
}

constexpr std::size_t kTypes = static_cast<std::size_t>(GemmType::kMxfp4Mxfp8) + 1;
using Values = std::array<std::array<double, kTypes>, kWeightClasses>;

Values values_of(const Asked& asked, const Model& model) {
  Values values = {};
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    for (const StoredModule& module : stored_modules(model.layer(i), i, model.hidden)) {
      const auto type = static_cast<std::size_t>(type_of(asked, module));
      values[static_cast<std::size_t>(module.weights)][type] += module.values;
    }
  }
  return values;
}

StoredPrecision stored_by(const Scheme& scheme, const Model& model) {
  StoredPrecision stored;
  stored.method = scheme.method;
  stored.unread = scheme.unread;
  stored.kv_cache = scheme.kv_cache;
  const Asked asked(scheme);
  if (stored.unread.empty()) stored.unread = asked.unread();
  if (!stored.unread.empty()) return stored;
  const Values values = values_of(asked, model);
  for (std::size_t i = 0; i < kWeightClasses; ++i) {
    const auto weights = static_cast<WeightClass>(i);
    const auto most = std::ranges::max_element(values[i]);
    if (*most == 0) continue;
    GemmType& type = weights == WeightClass::kAttention ? stored.attention
                     : weights == WeightClass::kDense   ? stored.dense
                                                        : stored.experts;
    type = static_cast<GemmType>(most - values[i].begin());
    const auto kinds = std::ranges::count_if(values[i], [](double n) { return n > 0; });
    if (kinds > 1) stored.mixed.emplace_back(name(weights));
  }
  return stored;
}

}  // namespace

StoredPrecision read_stored(const Json& config, const Model& model) {
  for (const Json* object : {&config, member(config, "text_config"), member(config, "llm_config"),
                             member(config, "language_config")}) {
    if (object == nullptr) continue;
    for (const char* key : {"quantization_config", "compression_config"}) {
      const Json* told = member(*object, key);
      if (told != nullptr && told->is_object() && !told->empty()) {
        return stored_by(scheme_of(*told), model);
      }
    }
  }
  return {};
}

StoredPrecision read_modelopt(const Json& document, const Model& model) {
  const Json* told = member(document, "quantization");
  if (told == nullptr || !told->is_object()) return {};
  Scheme scheme;
  scheme.method = "modelopt";
  read_modelopt_scheme(*told, scheme);
  read_left_out(*told, scheme);
  scheme.kv_cache = kv_cache_of(*told);
  return stored_by(scheme, model);
}

}  // namespace flopcast::workload
