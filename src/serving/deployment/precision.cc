// What checkpoints of a name store: which layers keep 16 bits, and how keys and values are kept.
#include <array>
#include <string>

#include "flopcast/serving.h"

namespace flopcast {
namespace {

/// Architectures whose 8-bit checkpoints have a scale per block of 128 x 128 (DeepSeek-V3, arXiv:2412.19437, section
/// 3.3; quantization_config.weight_block_size of Qwen3-FP8, GLM-5-FP8, MiniMax-M2.5).
bool has_block_scales(const Model& model) {
  constexpr std::array<std::string_view, 6> kBlocks = {"deepseek", "kimi",    "qwen3",
                                                       "glm",      "minimax", "qwen3_5"};
  for (const std::string_view known : kBlocks) {
    if (model.architecture.starts_with(known)) return true;
  }
  return false;
}

bool has_experts(const Model& model) {
  for (const Layer& layer : model.kinds) {
    if (layer.experts.count > 0) return true;
  }
  return false;
}

ServingPrecision four_bits(const Model& model) {
  ServingPrecision p;
  if (model.architecture == "gpt_oss") {
    // Published in MXFP4: experts alone; keys and values in 16 bits.
    p.experts = GemmType::kMxfp4Weight;
    return p;
  }
  p.experts = p.dense = GemmType::kNvfp4;
  p.kv_cache = DataType::kFp8;
  // hf_quant_config of NVIDIA's checkpoints: with experts, attention is excluded; without, it is not.
  p.attention = has_experts(model) ? GemmType::kBf16 : GemmType::kNvfp4;
  return p;
}

}  // namespace

std::string_view own_precision(const Model& model) {
  return model.stored.quantised() ? "stored" : "bf16";
}

Result<ServingPrecision> serving_precision(std::string_view text, const Model& model) {
  if (text == "stored") return stored_precision(model);
  ServingPrecision p;
  if (text == "bf16" || text == "fp16") return p;
  if (text == "fp8") {
    p.attention = p.dense = p.experts =
        has_block_scales(model) ? GemmType::kFp8Block : GemmType::kFp8;
    p.kv_cache = DataType::kFp8;
    if (model.architecture == "gpt_oss") {
      p = four_bits(model);
      p.kv_cache = DataType::kFp8;
    }
    return p;
  }
  if (text == "fp4" || text == "nvfp4" || text == "mxfp4") return four_bits(model);
  if (text == "int4") {
    // With experts, those alone (Kimi-K2-Thinking and -K2.5); else every linear layer (AWQ, GPTQ).
    p.experts = GemmType::kInt4WeightOnly;
    if (!has_experts(model)) p.attention = p.dense = GemmType::kInt4WeightOnly;
    return p;
  }
  return usage_error("precision '" + std::string(text) + "'", "is no precision of checkpoints",
                     "stored (as the checkpoint has them), bf16, fp8, fp4 or int4");
}

Result<ServingPrecision> stored_precision(const Model& model) {
  const StoredPrecision& stored = model.stored;
  if (!stored.unread.empty()) {
    return usage_error("precision", "of the checkpoint (" + stored.method + "): " + stored.unread,
                       "give --precision: bf16, fp8, fp4 or int4");
  }
  ServingPrecision p;
  p.attention = stored.attention;
  p.dense = stored.dense;
  p.experts = stored.experts;
  p.head = stored.head;
  p.kv_cache = stored.kv_cache.value_or(DataType::kBf16);
  return p;
}

}  // namespace flopcast
