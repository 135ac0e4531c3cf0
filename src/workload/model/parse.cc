// From the text of a config.json to a model: which architecture, then its reader, then what holds
// for all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/text/names.h"
#include "workload/checkpoint/stored.h"
#include "workload/model/architectures.h"
#include "workload/model/class_defaults.h"
#include "workload/model/model_flaw.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

std::string type_of(Fields& fields) {
  const std::string type = fields.text({"model_type"}, "");
  if (!type.empty()) return type;
  const nlohmann::json* classes = fields.find({"architectures"});
  if (classes == nullptr || !classes->is_array() || classes->empty()) return "";
  return (*classes)[0].is_string() ? type_of_class((*classes)[0].get<std::string>()) : "";
}

Diagnostic unknown_architecture(const nlohmann::json& object, const std::string& type,
                                const Kinship& kin, const std::string& where) {
  const std::string what = type.empty() ? "expected model_type, found none"
                                        : fmt::format("the architecture '{}' is not known", type);
  if (auto lacking = lacking_feature(object, 0, what + "; its fields tell of", where)) {
    return *lacking;
  }
  std::vector<std::string> types;
  for (const Architecture& known : architectures()) types.emplace_back(known.type);
  Fields as_llama(object, where);
  Model ignored;
  read_llama(as_llama, ignored);
  std::string lacks = "it has the fields of llama, but not the activation and norms";
  if (!as_llama.missing().empty()) {
    lacks = fmt::format("to be read as llama it lacks {}", fmt::join(as_llama.missing(), ", "));
  } else if (!kin.foreign.empty()) {
    lacks = fmt::format("it has the fields of llama and {}", fmt::join(kin.foreign, ", "));
  }
  return {
      ErrorCode::kBadInput, where, fmt::format("{}; {}", what, lacks),
      did_you_mean(type, types,
                   "set model_type to one whose layers are the same (docs/reference/models.md)")};
}

/// Parameters as a double: the sum of sizes within their limits may still pass 63 bits.
double rough_parameters(const Model& model) {
  double total = 2.0 * static_cast<double>(model.vocab + model.learned_positions) *
                 static_cast<double>(model.hidden);
  total += static_cast<double>(model.layer_embedding) * static_cast<double>(model.layers()) *
           static_cast<double>(model.layer_vocab + model.hidden);
  for (const std::uint16_t kind : model.encoder) {
    total += static_cast<double>(layer_parameters(model.kinds[kind], model.hidden));
  }
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    total += static_cast<double>(layer_parameters(model.kinds[kind], model.hidden)) *
             static_cast<double>(model.count(kind));
  }
  return total;
}

/// A config, and what it leaves out.
struct Config {
  const nlohmann::json* object = nullptr;
  std::string type;   ///< model_type, from outside where it has none of its own
  std::string where;  ///< in errors
  nlohmann::json defaults = nlohmann::json::object();
};

std::optional<Diagnostic> read_architecture(const Config& config, Fields& fields, Model& model,
                                            const std::string& where) {
  model.architecture = config.type.empty() ? type_of(fields) : config.type;
  const Architecture* known = find_architecture(model.architecture);
  if (known == nullptr && !model.architecture.empty()) {
    const Kinship kin = find_kin(*config.object, model.architecture);
    if (kin.known == nullptr) {
      return unknown_architecture(*config.object, model.architecture, kin, where);
    }
    known = kin.known;
    model.notes.push_back(kin.note);
    model.architecture = known->type;
  } else if (known == nullptr) {
    return unknown_architecture(*config.object, model.architecture, {}, where);
  }
  if (known->family == nullptr && !model.architecture.starts_with("gemma4")) {
    if (const nlohmann::json* each = fields.find({"per_layer_config"});
        each != nullptr && !each->empty()) {
      fields.refuse({"per_layer_config"}, "layers that differ in it are not modelled");
    }
  }
  const std::string subject = fmt::format("no model of type {} has", known->type);
  if (auto lacking = lacking_feature(*config.object, known->features, subject, where)) {
    return lacking;
  }
  known->read(fields, model);
  return std::nullopt;
}

Result<Model> read_config(const Config& config) {
  const std::string& where = config.where;
  Fields fields(*config.object, where, config.defaults);
  Model model;
  if (fields.find({"arch"}) != nullptr) {
    model.architecture = fields.text({"arch"}, "");
    model.name = fields.text({"name"}, model.architecture);
    read_short_form(fields, model);
  } else if (auto problem = read_architecture(config, fields, model, where)) {
    return *problem;
  }
  if (model.layers() > 0) fields.check_layer_lists(model.layers());
  if (auto problem = fields.problem(model.architecture)) return *problem;
  if (auto flaw = model_flaw(model)) {
    return Diagnostic{ErrorCode::kBadInput, where, "the fields make a model of which " + *flaw,
                      "correct the sizes"};
  }
  constexpr double kMost = 1e17;
  if (rough_parameters(model) > kMost) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      fmt::format("the sizes make {:.3g} parameters", rough_parameters(model)),
                      "check the sizes: at most 1e17 are supported"};
  }
  return model;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool tells_any(const nlohmann::json& object, const nlohmann::json& fields) {
  const auto all = fields.items();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& field) { return object.contains(field.key()); });
}

/// What of a model is told where nothing is: the defaults of its class alone, which nobody asked about.
std::optional<Diagnostic> says_nothing(const Config& config, const char* key,
                                       const std::string& where) {
  if (config.defaults.empty() || tells_any(*config.object, config.defaults)) return std::nullopt;
  return Diagnostic{
      ErrorCode::kBadInput, where,
      fmt::format("{} tells no size of the model: every one would be the default of {}", key,
                  config.type),
      "give the config.json of the model whole"};
}

/// Heads of keys that a nested config leaves out have the default of its class, which no other class's stands for.
std::optional<Diagnostic> lacks_unknown_default(const Config& config, const char* key,
                                                const std::string& where) {
  const Architecture* known = find_architecture(config.type);
  const bool tells = config.object->contains("num_key_value_heads") ||
                     !config.object->contains("num_attention_heads");
  if (!config.defaults.empty() || known == nullptr || !config.type.ends_with("_text") || tells) {
    return std::nullopt;
  }
  return Diagnostic{ErrorCode::kBadInput, where,
                    fmt::format("{} lacks num_key_value_heads, and the default of {} is not known",
                                key, config.type),
                    "add the missing field"};
}

/// Models of several modalities keep the language model's sizes one level down, and of them only
/// those that differ from the default of its class.
Result<Config> language_model(const nlohmann::json& document, const std::string& where) {
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const auto inner = document.find(key);
    if (inner == document.end() || !inner->is_object()) continue;
    Config config{&*inner, text_of(*inner, "model_type"), where};
    if (config.type.empty()) config.type = text_type_of(text_of(document, "model_type"));
    config.defaults = class_defaults(config.type);
    if (auto nothing = says_nothing(config, key, where)) return *nothing;
    if (auto unknown = lacks_unknown_default(config, key, where)) return *unknown;
    config.where = fmt::format("{}, {}", where, key);
    const auto tied = document.find("tie_word_embeddings");
    if (tied != document.end()) config.defaults["tie_word_embeddings"] = *tied;
    return config;
  }
  const std::string type = text_of(document, "model_type");
  const std::string_view text_type = text_type_of(type);
  if (!text_type.empty() && !tells_any(document, class_defaults(text_type))) {
    return Diagnostic{
        ErrorCode::kBadInput, where,
        fmt::format("expected the language model of a {} in text_config, found none", type),
        "give the config.json of the model whole"};
  }
  return Config{&document, {}, where};
}

/// What stands beside the language model: other modalities have layers of their own.
void note_towers(const nlohmann::json& document, Model& model) {
  std::vector<std::string> towers;
  for (const auto& [key, value] : document.items()) {
    const bool is_tower =
        key.ends_with("_config") && value.is_object() && value.contains("hidden_size");
    const bool is_language =
        key == "text_config" || key == "llm_config" || key == "language_config";
    if (is_tower && !is_language) towers.push_back(key);
  }
  if (towers.empty()) return;
  model.notes.push_back(fmt::format("the language model alone is counted and priced, without {}",
                                    fmt::join(towers, ", ")));
}

/// Python writes numbers that JSON does not have.
std::string without_python_numbers(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool quoted = false;
  for (std::size_t i = 0; i < json.size();) {
    if (json[i] == '"') quoted = !quoted;
    const std::size_t escape = quoted && json[i] == '\\' ? 2 : 1;
    std::size_t length = 0;
    for (const std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
      if (!quoted && length == 0 && json.substr(i).starts_with(word)) length = word.size();
    }
    out += length > 0 ? "null" : json.substr(i, escape);
    i += length > 0 ? length : escape;
  }
  return out;
}

}  // namespace

void workload::read_short_form(Fields& fields, Model& model) {
  const std::string arch = fields.text({"arch"}, "");
  if (arch == "llama") return read_llama(fields, model);
  if (arch == "gpt") return read_gpt2(fields, model);
  if (arch == "palm-parallel") return read_palm(fields, model);
  if (arch != "moe") return fields.refuse({"arch"}, "expected gpt, llama, moe or palm-parallel");
  if (fields.text({"attn"}, "") == "MLA") return read_deepseek(fields, model);
  if (fields.find({"window"}) != nullptr) return read_gpt_oss(fields, model);
  return read_qwen3_moe(fields, model);
}

Result<Model> parse_model(std::string_view json, const std::string& where) {
  nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  if (document.is_discarded()) {
    document = nlohmann::json::parse(without_python_numbers(json), nullptr, false);
  }
  if (!document.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, where, "expected a JSON object",
                      "give a Hugging Face config.json"};
  }
  const Result<Config> config = language_model(document, where);
  if (!config) return config.error();
  Result<Model> model = read_config(*config);
  if (!model) return model;
  if (model->name.empty()) model->name = model->architecture;
  note_towers(document, *model);
  model->stored = read_stored(document, *model);
  return model;
}

}  // namespace flopcast
