#include "workload/model/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text/names.h"

namespace flopcast::workload {
namespace {

struct OwnReader {
  std::string_view type;
  void (*read)(Fields& fields, Model& model);
  unsigned features = 0;
};
constexpr std::array kOwnReaders = {
    OwnReader{"axk2", read_axk2, kExperts | kLatent | kSparse},
    OwnReader{"bart", read_encoder_decoder},
    OwnReader{"bert", read_bert},
    OwnReader{"bigbird_pegasus", read_encoder_decoder},
    OwnReader{"blenderbot", read_encoder_decoder},
    OwnReader{"blenderbot-small", read_encoder_decoder},
    OwnReader{"bloom", read_bloom},
    OwnReader{"chatglm", read_chatglm},
    OwnReader{"cpmant", read_cpmant},
    OwnReader{"deepseek_v2", read_deepseek, kExperts | kLatent},
    OwnReader{"deepseek_v3", read_deepseek, kExperts | kLatent},
    OwnReader{"deepseek_v32", read_deepseek, kExperts | kLatent | kSparse},
    OwnReader{"deepseek_v4", read_deepseek_v4, kExperts | kSparse},
    OwnReader{"doge", read_doge, kExperts},
    OwnReader{"dory", read_dory},
    OwnReader{"falcon", read_falcon},
    OwnReader{"gemma", read_gemma},
    OwnReader{"gemma2", read_gemma2},
    OwnReader{"gemma3", read_gemma3},
    OwnReader{"gemma3_text", read_gemma3},
    OwnReader{"gemma3n", read_gemma3n},
    OwnReader{"gemma3n_text", read_gemma3n},
    OwnReader{"gemma4", read_gemma4, kExperts},
    OwnReader{"gemma4_text", read_gemma4, kExperts},
    OwnReader{"gemma4_unified_text", read_gemma4},
    OwnReader{"glm_moe_dsa", read_deepseek, kExperts | kLatent | kSparse},
    OwnReader{"gpt2", read_gpt2},
    OwnReader{"gpt_bigcode", read_gpt_bigcode},
    OwnReader{"gpt_neox", read_gpt_neox},
    OwnReader{"gpt_oss", read_gpt_oss, kExperts},
    OwnReader{"hrm_text", read_hrm_text},
    OwnReader{"inkling_text", read_inkling, kExperts},
    OwnReader{"jetmoe", read_jetmoe, kExperts},
    OwnReader{"kimi_k2", read_deepseek, kExperts | kLatent},
    OwnReader{"llama", read_llama},
    OwnReader{"llama4", read_llama4, kExperts},
    OwnReader{"llama4_text", read_llama4, kExperts},
    OwnReader{"longcat_flash", read_longcat, kExperts | kLatent},
    OwnReader{"m2m_100", read_encoder_decoder},
    OwnReader{"marian", read_encoder_decoder},
    OwnReader{"mbart", read_encoder_decoder},
    OwnReader{"mistral", read_mistral},
    OwnReader{"mixtral", read_mixtral, kExperts},
    OwnReader{"modernbert-decoder", read_modernbert_decoder},
    OwnReader{"mpt", read_mpt},
    OwnReader{"mt5", read_t5},
    OwnReader{"mvp", read_encoder_decoder},
    OwnReader{"nemotron_h", read_nemotron_h, kExperts | kRecurrent},
    OwnReader{"opt", read_opt},
    OwnReader{"palm", read_palm},
    OwnReader{"pegasus", read_encoder_decoder},
    OwnReader{"phi", read_phi},
    OwnReader{"phi3", read_phi3},
    OwnReader{"plbart", read_encoder_decoder},
    OwnReader{"qwen2", read_qwen2},
    OwnReader{"qwen2_5_vl", read_qwen2},
    OwnReader{"qwen2_5_vl_text", read_qwen2},
    OwnReader{"qwen2_moe", read_qwen2_moe, kExperts},
    OwnReader{"qwen2_vl", read_qwen2},
    OwnReader{"qwen2_vl_text", read_qwen2},
    OwnReader{"qwen3", read_qwen3},
    OwnReader{"qwen3_5", read_qwen3_next, kRecurrent},
    OwnReader{"qwen3_5_moe", read_qwen3_next, kExperts | kRecurrent},
    OwnReader{"qwen3_5_moe_text", read_qwen3_next, kExperts | kRecurrent},
    OwnReader{"qwen3_5_text", read_qwen3_next, kRecurrent},
    OwnReader{"qwen3_moe", read_qwen3_moe, kExperts},
    OwnReader{"qwen3_next", read_qwen3_next, kExperts | kRecurrent},
    OwnReader{"qwen3_vl_moe_text", read_qwen3_moe, kExperts},
    OwnReader{"qwen3_vl_text", read_qwen3},
    OwnReader{"recurrent_gemma", read_recurrent_gemma, kRecurrent},
    OwnReader{"t5", read_t5},
    OwnReader{"trocr", read_encoder_decoder},
    OwnReader{"umt5", read_t5},
    OwnReader{"vit", read_vit},
    OwnReader{"whisper", read_encoder_decoder},
    OwnReader{"zamba", read_zamba, kRecurrent},
    OwnReader{"zamba2", read_zamba, kRecurrent},
    OwnReader{"zaya", read_zaya, kExperts},
};

/// Fields by which a config demands a feature, where one of them is at least `least`.
struct Demand {
  Feature feature;
  std::string_view name;
  double least;
  std::array<std::string_view, 8> keys;
};
constexpr std::array kDemands = {
    Demand{kExperts,
           "experts",
           2,
           {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
            "num_moe_experts"}},
    Demand{kLatent, "latent attention", 1, {"kv_lora_rank"}},
    Demand{kSparse, "sparse attention", 1, {"index_topk"}},
    Demand{kRecurrent,
           "recurrent layers",
           1,
           {"linear_num_value_heads", "mamba_num_heads", "mamba_n_heads", "mamba_d_state",
            "ssm_state_size", "linear_num_heads", "conv_L_cache", "lru_width"}},
};

/// The field that makes this demand, empty where none does.
std::string_view demanding_field(const nlohmann::json& object, const Demand& demand) {
  for (const std::string_view key : demand.keys) {
    const auto found = object.find(key);
    if (!key.empty() && found != object.end() && found->is_number() &&
        found->get<double>() >= demand.least) {
      return key;
    }
  }
  return {};
}

}  // namespace

void Architecture::read(Fields& fields, Model& model) const {
  family != nullptr ? read_family(fields, model, *family) : reader(fields, model);
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = [] {
    std::vector<Architecture> types;
    for (const OwnReader& own : kOwnReaders) types.push_back({own.type, own.features, own.read});
    for (const Family& family : families()) {
      const unsigned features = (family.experts.any ? kExperts : 0U) |
                                (family.latent ? kLatent : 0U) | (family.sparse ? kSparse : 0U) |
                                (family.mixer.mixer != Mixer::kNone ? kRecurrent : 0U);
      types.push_back({family.type, features, nullptr, &family});
    }
    std::ranges::sort(types, {}, &Architecture::type);
    return types;
  }();
  return all;
}

std::string type_of_class(std::string name) {
  for (const std::string_view tail : {"ForCausalLM", "LMHeadModel", "ForMaskedLM", "Model",
                                      "ForImageClassification", "ForConditionalGeneration"}) {
    if (name.size() > tail.size() && name.ends_with(tail)) {
      name.erase(name.size() - tail.size());
      break;
    }
  }
  for (const Architecture& known : architectures()) {
    if (name_key(known.type) == name_key(name)) return std::string(known.type);
  }
  return name;
}

namespace {

/// What Llama's configs have, and what says nothing of layers.
constexpr std::string_view kFieldsOfLlama[] = {"hidden_size",
                                               "intermediate_size",
                                               "num_hidden_layers",
                                               "num_attention_heads",
                                               "num_key_value_heads",
                                               "head_dim",
                                               "vocab_size",
                                               "max_position_embeddings",
                                               "attention_bias",
                                               "mlp_bias",
                                               "hidden_act",
                                               "rms_norm_eps",
                                               "rope_theta",
                                               "rope_scaling",
                                               "rope_parameters",
                                               "tie_word_embeddings",
                                               "pretraining_tp",
                                               "attention_dropout",
                                               "_name_or_path",
                                               "architectures",
                                               "auto_map",
                                               "bos_token_id",
                                               "dtype",
                                               "eos_token_id",
                                               "initializer_range",
                                               "model_type",
                                               "pad_token_id",
                                               "quantization_config",
                                               "torch_dtype",
                                               "transformers_version",
                                               "use_cache"};

bool is_word(const nlohmann::json& object, const char* key,
             std::initializer_list<std::string_view> words) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() &&
         std::ranges::find(words, found->get<std::string>()) != words.end();
}

/// The first of "architectures".
std::string class_of(const nlohmann::json& object) {
  const auto classes = object.find("architectures");
  if (classes == object.end() || !classes->is_array() || classes->empty()) return "";
  return (*classes)[0].is_string() ? (*classes)[0].get<std::string>() : "";
}

}  // namespace

Kinship find_kin(const nlohmann::json& object, const std::string& type) {
  Kinship kin;
  const std::string name = class_of(object);
  kin.known = find_architecture(type_of_class(name));
  if (kin.known != nullptr) {
    kin.note = fmt::format("the type '{}' is not known: read as {}, as its class {} says", type,
                           kin.known->type, name);
    return kin;
  }
  for (const auto& [key, value] : object.items()) {
    const bool empty = value.is_null() || value == false;
    if (!empty && std::ranges::find(kFieldsOfLlama, key) == std::end(kFieldsOfLlama)) {
      kin.foreign.push_back(key);
    }
  }
  const bool gated = is_word(object, "hidden_act", {"silu", "swish"});
  if (!kin.foreign.empty() || !gated || !object.contains("rms_norm_eps")) return kin;
  kin.known = find_architecture("llama");
  kin.note = fmt::format(
      "the type '{}' is not known: read as llama, of which it has the fields and no others", type);
  return kin;
}

const Architecture* find_architecture(std::string_view type) {
  const auto found = std::ranges::find(architectures(), type, &Architecture::type);
  return found == architectures().end() ? nullptr : &*found;
}

std::optional<Diagnostic> lacking_feature(const nlohmann::json& object, unsigned features,
                                          const std::string& subject, const std::string& where) {
  unsigned demanded = 0;
  std::vector<std::string> lacks;
  for (const Demand& demand : kDemands) {
    const std::string_view key = demanding_field(object, demand);
    if (key.empty()) continue;
    demanded |= demand.feature;
    if ((features & demand.feature) == 0) lacks.push_back(fmt::format("{} ({})", demand.name, key));
  }
  if (lacks.empty()) return std::nullopt;
  std::vector<std::string_view> able;
  for (const Architecture& known : architectures()) {
    if ((known.features & demanded) == demanded) able.push_back(known.type);
  }
  return Diagnostic{
      ErrorCode::kBadInput, where, fmt::format("{} {}", subject, fmt::join(lacks, " and ")),
      able.empty() ? "no architecture known here has all of these"
                   : fmt::format("only if its layers are the same, set model_type to one of {}",
                                 fmt::join(able, ", "))};
}

}  // namespace flopcast::workload
