// One function per family of architectures: from the fields of a config to a model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/model/config_fields.h"

namespace flopcast::workload {

/// Sizes that nearly every config gives, under any of their names; one kind of layer, the same
/// `layers` times, unless the reader makes its own.
struct CommonSizes {
  std::int64_t layers = 0, intermediate = 0;
  AttentionShape attention;
};
CommonSizes read_common(Fields& fields, Model& model);
/// What they share where no layer attends: sizes of the model. @return its layers
std::int64_t read_ends(Fields& fields, Model& model);
/// What a head is wide where nothing is said: its share of hidden, rounded down where it does not divide.
inline constexpr std::int64_t kAnyHeadDim = -1;
/// Heads and their width. @param otherwise what a head is wide where nothing is said; 0: its share of hidden, which
/// must divide
AttentionShape read_heads(Fields& fields, const Model& model, std::int64_t otherwise = 0);
/// Keys and values of multi-head latent attention, instead of those of `attention`.
void read_latent(Fields& fields, AttentionShape& attention);

/// DeepSeek Sparse Attention: the "lightning indexer".
void read_indexer(Fields& fields, AttentionShape& attention);

inline const Keys kExpertCount = {"num_experts",     "num_local_experts", "n_routed_experts",
                                  "moe_num_experts", "num_moe_experts",   "experts"};
inline const Keys kExpertWidth = {"moe_intermediate_size", "expert_ffn_hidden_size", "expert_ffn"};
/// Experts that a router chooses from; nothing shared.
Experts read_routed_experts(Fields& fields, Keys count, Keys intermediate);
/// Groups of experts alike, of which a token's experts are in a few.
void read_expert_groups(Fields& fields, Experts& experts);

/// Of each layer, whether it has no experts: named, counted from the first, or every so many.
std::vector<bool> layers_without_experts(Fields& fields, std::int64_t layers);
/// Of each layer, what layer_types and its kin say of it, of words that some family has. Empty: nothing.
std::vector<std::string> layer_words(Fields& fields, std::int64_t layers);
/// Of each layer, whether it attends: the others have a state instead. Nothing where the config does not say.
std::optional<std::vector<bool>> attending_layers(Fields& fields, std::int64_t layers);
/// Of each layer, whether it takes the keys that an earlier one's indexer chose (GLM-5.2).
std::vector<bool> layers_without_indexer(Fields& fields, std::int64_t layers);
/// Of each layer, whether it looks back a window only: named by layer_types, else every `period`-th
/// layer sees all; without either (`period` 0) all layers look back the same.
std::vector<bool> windowed_layers(Fields& fields, std::int64_t layers, std::int64_t period);
/// Heads of keys that are shared by those of queries.
void check_shared_heads(Fields& fields, Keys keys, AttentionShape& attention);

void read_llama(Fields& fields, Model& model);
void read_mistral(Fields& fields, Model& model);
void read_qwen2(Fields& fields, Model& model);
void read_qwen3(Fields& fields, Model& model);
void read_gemma(Fields& fields, Model& model);
void read_gemma2(Fields& fields, Model& model);
void read_gemma3(Fields& fields, Model& model);
void read_gemma3n(Fields& fields, Model& model);
void read_phi3(Fields& fields, Model& model);

void read_mixtral(Fields& fields, Model& model);
void read_qwen2_moe(Fields& fields, Model& model);
void read_qwen3_moe(Fields& fields, Model& model);
void read_deepseek(Fields& fields, Model& model);
void read_gpt_oss(Fields& fields, Model& model);
void read_llama4(Fields& fields, Model& model);

void read_gpt2(Fields& fields, Model& model);
void read_gpt_neox(Fields& fields, Model& model);
void read_phi(Fields& fields, Model& model);
void read_bloom(Fields& fields, Model& model);
void read_opt(Fields& fields, Model& model);
void read_mpt(Fields& fields, Model& model);
void read_palm(Fields& fields, Model& model);
void read_gpt_bigcode(Fields& fields, Model& model);
void read_falcon(Fields& fields, Model& model);
void read_chatglm(Fields& fields, Model& model);

void read_qwen3_next(Fields& fields, Model& model);
void read_nemotron_h(Fields& fields, Model& model);
void read_gemma4(Fields& fields, Model& model);

void read_axk2(Fields& fields, Model& model);
void read_cpmant(Fields& fields, Model& model);
void read_dory(Fields& fields, Model& model);
void read_deepseek_v4(Fields& fields, Model& model);
void read_doge(Fields& fields, Model& model);
void read_hrm_text(Fields& fields, Model& model);
void read_inkling(Fields& fields, Model& model);
void read_jetmoe(Fields& fields, Model& model);
void read_longcat(Fields& fields, Model& model);
void read_modernbert_decoder(Fields& fields, Model& model);
void read_recurrent_gemma(Fields& fields, Model& model);
void read_zamba(Fields& fields, Model& model);
void read_zaya(Fields& fields, Model& model);

void read_encoder_decoder(Fields& fields, Model& model);
void read_t5(Fields& fields, Model& model);

void read_bert(Fields& fields, Model& model);
void read_vit(Fields& fields, Model& model);

/// A run's short description: {"arch": "gpt", "layers": 24, "hidden": 2304, "ffn": 9216, ...}.
void read_short_form(Fields& fields, Model& model);

}  // namespace flopcast::workload
