// From the text of a config.json to a model: which architecture, then its reader, then what holds
// for all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "workload/model/config_readers.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

using Reader = void (*)(Fields&, Model&);
struct Architecture {
  std::string_view type;  ///< model_type of the config
  Reader read;
};
constexpr std::array kArchitectures = {
    Architecture{"bert", read_bert},
    Architecture{"bloom", read_bloom},
    Architecture{"deepseek_v2", read_deepseek},
    Architecture{"deepseek_v3", read_deepseek},
    Architecture{"gemma", read_gemma},
    Architecture{"gemma2", read_gemma2},
    Architecture{"gemma3", read_gemma3},
    Architecture{"gemma3_text", read_gemma3},
    Architecture{"gpt2", read_gpt2},
    Architecture{"gpt_neox", read_gpt_neox},
    Architecture{"gpt_oss", read_gpt_oss},
    Architecture{"kimi_k2", read_deepseek},
    Architecture{"llama", read_llama},
    Architecture{"llama4", read_llama4},
    Architecture{"llama4_text", read_llama4},
    Architecture{"mistral", read_mistral},
    Architecture{"mixtral", read_mixtral},
    Architecture{"mpt", read_mpt},
    Architecture{"opt", read_opt},
    Architecture{"palm", read_palm},
    Architecture{"phi", read_phi},
    Architecture{"phi3", read_phi3},
    Architecture{"qwen2", read_qwen2},
    Architecture{"qwen2_moe", read_qwen2_moe},
    Architecture{"qwen3", read_qwen3},
    Architecture{"qwen3_moe", read_qwen3_moe},
    Architecture{"vit", read_vit},
};

const Architecture* find_architecture(std::string_view type) {
  const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                  [&](const Architecture& known) { return known.type == type; });
  return found == kArchitectures.end() ? nullptr : &*found;
}

/// "LlamaForCausalLM" is "llama": for configs without model_type.
std::string type_of_class(std::string name) {
  for (const std::string_view tail : {"ForCausalLM", "LMHeadModel", "ForMaskedLM", "Model",
                                      "ForImageClassification", "ForConditionalGeneration"}) {
    if (name.size() > tail.size() && name.ends_with(tail)) {
      name.erase(name.size() - tail.size());
      break;
    }
  }
  for (const Architecture& known : kArchitectures) {
    if (name_key(known.type) == name_key(name)) return std::string(known.type);
  }
  return name;
}

std::string type_of(Fields& fields) {
  const std::string type = fields.text({"model_type"}, "");
  if (!type.empty()) return type;
  const nlohmann::json* classes = fields.find({"architectures"});
  if (classes == nullptr || !classes->is_array() || classes->empty()) return "";
  return (*classes)[0].is_string() ? type_of_class((*classes)[0].get<std::string>()) : "";
}

Diagnostic unknown_architecture(const nlohmann::json& object, const std::string& type,
                                const std::string& where) {
  std::vector<std::string_view> types;
  for (const Architecture& known : kArchitectures) types.push_back(known.type);
  Fields as_llama(object, where);
  Model ignored;
  read_llama(as_llama, ignored);
  const std::string lacks =
      as_llama.missing().empty()
          ? "it has the fields of llama"
          : fmt::format("to be read as llama it lacks {}", fmt::join(as_llama.missing(), ", "));
  const std::string what = type.empty() ? "expected model_type, found none"
                                        : fmt::format("the architecture '{}' is not known", type);
  return {ErrorCode::kBadInput, where, fmt::format("{}; {}", what, lacks),
          fmt::format("set model_type to the one of {} whose layers are the same",
                      fmt::join(types, ", "))};
}

/// Parameters as a double: the sum of sizes within their limits may still pass 63 bits.
double rough_parameters(const Model& model) {
  double total = 2.0 * static_cast<double>(model.vocab + model.learned_positions) *
                 static_cast<double>(model.hidden);
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    total += static_cast<double>(layer_parameters(model.kinds[kind], model.hidden)) *
             static_cast<double>(model.count(kind));
  }
  return total;
}

Result<Model> read_config(const nlohmann::json& object, const std::string& where) {
  Fields fields(object, where);
  Model model;
  if (fields.find({"arch"}) != nullptr) {
    model.architecture = fields.text({"arch"}, "");
    model.name = fields.text({"name"}, model.architecture);
    read_short_form(fields, model);
  } else {
    model.architecture = type_of(fields);
    const Architecture* architecture = find_architecture(model.architecture);
    if (architecture == nullptr) return unknown_architecture(object, model.architecture, where);
    architecture->read(fields, model);
  }
  if (auto problem = fields.problem(model.architecture)) return *problem;
  constexpr double kMost = 1e17;
  if (rough_parameters(model) > kMost) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      fmt::format("the sizes make {:.3g} parameters", rough_parameters(model)),
                      "check the sizes: at most 1e17 are supported"};
  }
  return model;
}

}  // namespace

void workload::read_short_form(Fields& fields, Model& model) {
  const std::string arch = fields.text({"arch"}, "");
  if (arch == "llama") return read_llama(fields, model);
  if (arch == "gpt") return read_gpt2(fields, model);
  if (arch == "palm-parallel") return read_palm(fields, model);
  if (arch != "moe") return fields.refuse("arch", "expected gpt, llama, moe or palm-parallel");
  if (fields.text({"attn"}, "") == "MLA") return read_deepseek(fields, model);
  if (fields.find({"window"}) != nullptr) return read_gpt_oss(fields, model);
  return read_qwen3_moe(fields, model);
}

Result<Model> parse_model(std::string_view json, const std::string& where) {
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, where, "expected a JSON object",
                      "give a Hugging Face config.json"};
  }
  // Models of several modalities keep the language model's sizes one level down.
  const auto text_config = document.find("text_config");
  const bool nested = text_config != document.end() && text_config->is_object();
  Result<Model> model = read_config(nested ? *text_config : document, where);
  if (model && model->name.empty()) model->name = model->architecture;
  return model;
}

}  // namespace flopcast
