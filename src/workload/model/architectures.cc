#include "workload/model/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace flopcast::workload {
namespace {

struct OwnReader {
  std::string_view type;
  void (*read)(Fields& fields, Model& model);
  unsigned features = 0;
};
constexpr std::array kOwnReaders = {
    OwnReader{"axk2", read_axk2, kExperts | kLatent | kSparse},
    OwnReader{"bert", read_bert},
    OwnReader{"bloom", read_bloom},
    OwnReader{"chatglm", read_chatglm},
    OwnReader{"deepseek_v2", read_deepseek, kExperts | kLatent},
    OwnReader{"deepseek_v3", read_deepseek, kExperts | kLatent},
    OwnReader{"deepseek_v32", read_deepseek, kExperts | kLatent | kSparse},
    OwnReader{"deepseek_v4", read_deepseek_v4, kExperts | kSparse},
    OwnReader{"doge", read_doge, kExperts},
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
    OwnReader{"mistral", read_mistral},
    OwnReader{"mixtral", read_mixtral, kExperts},
    OwnReader{"modernbert-decoder", read_modernbert_decoder},
    OwnReader{"mpt", read_mpt},
    OwnReader{"nemotron_h", read_nemotron_h, kExperts | kRecurrent},
    OwnReader{"opt", read_opt},
    OwnReader{"palm", read_palm},
    OwnReader{"phi", read_phi},
    OwnReader{"phi3", read_phi3},
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
    OwnReader{"vit", read_vit},
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
