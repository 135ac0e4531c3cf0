#include "parallel/launchers/flags.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

/// What a launcher such as torchrun starts, after its own flags.
bool is_program(std::string_view word) { return word.ends_with(".py"); }

/// Whether a word holds several: "--fp8-format hybrid", or options that a script passes to another as one
/// argument. Values with blanks hold no flag.
bool holds_flags(std::string_view word) {
  if (is_flag(word)) return word.find_first_of(" \t\n") < word.find('=');
  return word.find(" --") != std::string_view::npos;
}

std::vector<std::string> apart(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    if (!holds_flags(word)) {
      all.push_back(word);
      continue;
    }
    for (std::string& part : shell_words(word)) all.push_back(std::move(part));
  }
  return all;
}

struct Effect {
  std::string_view flag;
  std::string_view value;  ///< empty: any
  std::string_view instead;
};

// clang-format off
constexpr std::array kUnmodelled = {
    Effect{"cpu-offloading", "", "activations stay on the chip"},
    Effect{"fine-grained-activation-offloading", "", "activations stay on the chip"},
    Effect{"checkpoint-in-cpu", "", "activations stay on the chip"},
    Effect{"partition-activations", "", "each chip keeps the inputs of recomputed layers"},
    Effect{"distribute-saved-activations", "", "each chip keeps the inputs of recomputed layers"},
    Effect{"distribute-checkpointed-activations", "", "each chip keeps the inputs of recomputed layers"},
    Effect{"remote-device", "", "weights stay on the chip"},
    Effect{"ds-sequence-parallel-fpdt", "", "sequences are not cut into chunks"},
    Effect{"rampup-batch-size", "", "the final batch"},
    Effect{"curriculum-learning-legacy", "", "whole sequences"},
    Effect{"random-ltd", "", "no tokens are dropped"},
    Effect{"topk", "2", "one expert a token"},
    Effect{"moe-expert-capacity-factor", "", "every expert gets as many tokens, none is dropped"},
    Effect{"moe-train-capacity-factor", "", "every expert gets as many tokens, none is dropped"},
    Effect{"mlp-type", "residual", "experts alone"},
    Effect{"moe-shared-expert-overlap", "", "shared experts run apart"},
    Effect{"moe-enable-deepep", "", "all-to-all of the collectives' library"},
    Effect{"moe-token-dispatcher-type", "flex", "all-to-all of the collectives' library"},
    Effect{"moe-token-dispatcher-type", "allgather", "all-to-all"},
    Effect{"delay-wgrad-compute", "", "gradients of weights right behind those of inputs"},
    Effect{"enable-cuda-graph", "", "launches as of the software's profile"},
    Effect{"external-cuda-graph", "", "launches as of the software's profile"},
    Effect{"cuda-graph-impl", "", "launches as of the software's profile"},
    Effect{"transformer-impl", "local", "fused kernels"},
    Effect{"no-masked-softmax-fusion", "", "fused kernels"},
    Effect{"no-bias-gelu-fusion", "", "fused kernels"},
    Effect{"no-bias-swiglu-fusion", "", "fused kernels"},
    Effect{"no-bias-dropout-fusion", "", "fused kernels"},
    Effect{"no-rope-fusion", "", "fused kernels"},
    Effect{"no-gradient-accumulation-fusion", "", "gradients are added in their product"},
    Effect{"cross-entropy-loss-fusion", "", "logits as of the software's profile"},
    Effect{"fp8-interval", "", "every layer in 8 bits"},
    Effect{"first-last-layers-bf16", "", "every layer in 8 bits"},
    Effect{"hierarchical-context-parallel-sizes", "", "one context-parallel group"},
    Effect{"hybrid-override-pattern", "", "attention and feed-forward in every layer"},
    Effect{"hybrid-layer-pattern", "", "attention and feed-forward in every layer"},
    Effect{"window-size", "", "the model's attention"},
    Effect{"window-attn-skip-freq", "", "the model's attention"},
    Effect{"spec", "", "the usual layers"},
    Effect{"experimental-attention-variant", "", "the model's attention"},
    Effect{"compression-training", "", "no compression"},
    Effect{"kd", "", "no teacher"},
};

constexpr std::array<std::string_view, 49> kModel = {
    "num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "kv-channels",
    "group-query-attention", "num-query-groups", "num-key-value-heads", "swiglu", "squared-relu",
    "normalization", "position-embedding-type", "use-rotary-position-embeddings",
    "use-rope", "no-position-embedding", "max-position-embeddings",
    "untie-embeddings-and-output-weights", "disable-bias-linear", "add-bias-linear",
    "add-qkv-bias", "no-add-qkv-bias", "qk-layernorm", "attention-dropout", "hidden-dropout",
    "vocab-size", "padded-vocab-size", "pad-vocab-size-to", "make-vocab-size-divisible-by",
    "extra-vocab-size", "tokenizer-type", "patch-tokenizer-type", "embed-layernorm", "num-experts",
    "moe-router-topk", "moe-ffn-hidden-size", "moe-shared-expert-intermediate-size",
    "moe-layer-freq", "expert-interval", "multi-latent-attention", "q-lora-rank", "kv-lora-rank",
    "qk-head-dim", "qk-pos-emb-head-dim", "v-head-dim", "moe-router-enable-expert-bias",
    "rotary-base", "rotary-percent", "norm-epsilon", "apply-layernorm-1p"};
// clang-format on

}  // namespace

std::vector<LaunchFlag> flags_of(const std::vector<std::string>& given) {
  const std::vector<std::string> words = apart(given);
  std::vector<LaunchFlag> flags;
  for (const std::string& word : words) {
    if (!is_flag(word)) {
      if (is_program(word)) flags.push_back({});  // what follows belongs to no launcher's flag
      if (!flags.empty() && !flags.back().name.empty()) flags.back().values.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    LaunchFlag flag{word.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
    std::replace(flag.name.begin(), flag.name.end(), '_', '-');
    if (equals != std::string::npos) flag.values.push_back(word.substr(equals + 1));
    flags.push_back(std::move(flag));
  }
  std::erase_if(flags, [](const LaunchFlag& flag) { return flag.name.empty(); });
  return flags;
}

bool is_model_flag(std::string_view name) {
  return std::find(kModel.begin(), kModel.end(), name) != kModel.end();
}

std::string_view instead_of(const LaunchFlag& flag) {
  for (const Effect& effect : kUnmodelled) {
    if (effect.flag != flag.name) continue;
    if (effect.value.empty() || effect.value == flag.first()) return effect.instead;
  }
  return {};
}

}  // namespace flopcast::parallel
