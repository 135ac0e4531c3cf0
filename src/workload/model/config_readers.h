// One function per family of architectures: from the fields of a config to a model.
#pragma once

#include <string_view>

#include "workload/model/config_fields.h"

namespace flopcast::workload {

/// Sizes that nearly every config gives, under any of their names; one kind of layer, the same
/// `layers` times, unless the reader makes its own.
struct CommonSizes {
  std::int64_t layers = 0, intermediate = 0;
  AttentionShape attention;
};
CommonSizes read_common(Fields& fields, Model& model);

/// Experts that a router chooses from; nothing shared.
Experts read_routed_experts(Fields& fields, Keys count, Keys intermediate);
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

void read_bert(Fields& fields, Model& model);
void read_vit(Fields& fields, Model& model);

/// A run's short description: {"arch": "gpt", "layers": 24, "hidden": 2304, "ffn": 9216, ...}.
void read_short_form(Fields& fields, Model& model);

}  // namespace flopcast::workload
