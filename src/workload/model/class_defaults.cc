#include "workload/model/class_defaults.h"

#include <algorithm>

namespace flopcast::workload {
namespace {

struct Defaults {
  std::string_view type, fields;
};
// configuration_*.py of Hugging Face transformers 4.57 and 5.
constexpr Defaults kDefaults[] = {
    {"gemma", R"({"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576,
      "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
      "head_dim": 256, "max_position_embeddings": 8192, "tie_word_embeddings": true})"},
    {"gemma2", R"({"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
      "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
      "max_position_embeddings": 8192, "sliding_window": 4096, "tie_word_embeddings": true})"},
    {"gemma3_text", R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
      "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
      "max_position_embeddings": 131072, "sliding_window": 4096, "tie_word_embeddings": true})"},
    {"gemma3n_text", R"({"vocab_size": 262400, "hidden_size": 2048, "intermediate_size": 16384,
      "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
      "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144,
      "num_kv_shared_layers": 15, "altup_num_inputs": 4, "laurel_rank": 64, "sliding_window": 512,
      "max_position_embeddings": 32768, "tie_word_embeddings": true})"},
    {"gemma4_text", R"({"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216,
      "num_hidden_layers": 30, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
      "global_head_dim": 512, "hidden_size_per_layer_input": 256, "sliding_window": 512,
      "max_position_embeddings": 131072, "tie_word_embeddings": true})"},
    {"llama", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048})"},
    {"llama4_text", R"({"vocab_size": 202048, "hidden_size": 5120, "intermediate_size": 8192,
      "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
      "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 16, "num_experts_per_tok": 1,
      "interleave_moe_layer_step": 1, "attention_chunk_size": 8192,
      "max_position_embeddings": 131072})"},
    {"mistral", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "max_position_embeddings": 131072, "sliding_window": 4096})"},
    {"mixtral", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 131072})"},
    {"opt", R"({"vocab_size": 50272, "hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12,
      "num_attention_heads": 12, "max_position_embeddings": 2048})"},
    {"phi", R"({"vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192,
      "num_hidden_layers": 24, "num_attention_heads": 32, "max_position_embeddings": 2048})"},
    {"phi3", R"({"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192,
      "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 4096})"},
    {"qwen2", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
      "max_position_embeddings": 32768})"},
    {"qwen2_5_vl_text", R"({"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568,
      "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
      "max_position_embeddings": 32768})"},
    {"qwen2_vl_text", R"({"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568,
      "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
      "max_position_embeddings": 32768})"},
    {"qwen3", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
      "head_dim": 128, "max_position_embeddings": 32768})"},
    {"qwen3_5_text", R"({"vocab_size": 248320, "hidden_size": 4096, "intermediate_size": 12288,
      "num_hidden_layers": 32, "num_attention_heads": 16, "num_key_value_heads": 4,
      "head_dim": 256, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
      "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
      "max_position_embeddings": 32768})"},
    {"qwen3_5_moe_text", R"({"vocab_size": 248320, "hidden_size": 2048, "num_hidden_layers": 40,
      "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
      "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
      "linear_num_key_heads": 16, "linear_num_value_heads": 32, "num_experts": 256,
      "num_experts_per_tok": 8, "moe_intermediate_size": 512,
      "shared_expert_intermediate_size": 512, "max_position_embeddings": 32768})"},
    {"qwen3_moe", R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144,
      "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4,
      "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
      "max_position_embeddings": 32768})"},
    {"qwen3_vl_text", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
      "head_dim": 128, "max_position_embeddings": 128000})"},
    {"qwen3_vl_moe_text", R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632,
      "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16,
      "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
      "max_position_embeddings": 128000})"},
};

struct TextType {
  std::string_view type, text;
};
constexpr TextType kTextTypes[] = {
    {"aya_vision", "cohere2"},
    {"gemma3", "gemma3_text"},
    {"gemma3n", "gemma3n_text"},
    {"gemma4", "gemma4_text"},
    {"llama4", "llama4_text"},
    {"llava", "llama"},
    {"llava_next", "llama"},
    {"llava_onevision", "qwen2"},
    {"mistral3", "mistral"},
    {"paligemma", "gemma"},
    {"qwen2_5_vl", "qwen2_5_vl_text"},
    {"qwen2_audio", "qwen2"},
    {"qwen2_vl", "qwen2_vl_text"},
    {"qwen3_5", "qwen3_5_text"},
    {"qwen3_5_moe", "qwen3_5_moe_text"},
    {"qwen3_vl", "qwen3_vl_text"},
    {"qwen3_vl_moe", "qwen3_vl_moe_text"},
    {"video_llava", "llama"},
    {"vipllava", "llama"},
};

}  // namespace

nlohmann::json class_defaults(std::string_view type) {
  const auto* found = std::find_if(std::begin(kDefaults), std::end(kDefaults),
                                   [&](const Defaults& known) { return known.type == type; });
  return found == std::end(kDefaults) ? nlohmann::json::object()
                                      : nlohmann::json::parse(found->fields);
}

std::string_view text_type_of(std::string_view type) {
  const auto* found = std::find_if(std::begin(kTextTypes), std::end(kTextTypes),
                                   [&](const TextType& known) { return known.type == type; });
  return found == std::end(kTextTypes) ? std::string_view() : found->text;
}

}  // namespace flopcast::workload
