// A model as Megatron-LM's flags: the mirror of megatron_model.cc.
#include <fmt/format.h>

#include <algorithm>

#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

/// The last layer: where experts are in some layers only, they are in this one.
const Layer& telling_layer(const Model& model) { return model.kinds[model.order.back()]; }

/// "([0]*3+[1]*58)" of layers with experts; empty: all or none have them.
std::string expert_pattern(const Model& model) {
  std::string pattern;
  std::size_t runs = 0;
  for (std::size_t begin = 0; begin < model.order.size();) {
    const bool sparse = model.kinds[model.order[begin]].experts.count > 0;
    std::size_t end = begin;
    while (end < model.order.size() &&
           (model.kinds[model.order[end]].experts.count > 0) == sparse) {
      ++end;
    }
    pattern += fmt::format("{}[{}]*{}", pattern.empty() ? "" : "+", sparse ? 1 : 0, end - begin);
    begin = end;
    ++runs;
  }
  return runs > 1 ? "(" + pattern + ")" : "";
}

class ModelWriter {
 public:
  ModelWriter(const Model& model, std::int64_t sequence)
      : model_(model), layer_(telling_layer(model)), sequence_(sequence) {}

  std::vector<std::string> flags() {
    sizes();
    attention();
    kinds();
    experts();
    return std::move(flags_);
  }

 private:
  void add(std::string flag) { flags_.push_back("--" + std::move(flag)); }
  void add(std::string_view flag, std::int64_t value) { add(fmt::format("{} {}", flag, value)); }

  void sizes() {
    add("num-layers", model_.layers());
    add("hidden-size", model_.hidden);
    add("ffn-hidden-size", std::max(dense().intermediate, layer_.experts.expert.intermediate));
    add("num-attention-heads", layer_.attention.heads);
    // The null tokenizer adds one token to its vocabulary.
    add("vocab-size", std::max<std::int64_t>(model_.vocab - 1, 1));
    add("padded-vocab-size", model_.vocab);
    add("max-position-embeddings", std::max(model_.max_sequence, sequence_));
  }

  /// Of a layer without experts, where there is one.
  FeedForward dense() const {
    for (const Layer& layer : model_.kinds) {
      if (layer.mlp.intermediate > 0) return layer.mlp;
    }
    return {0, layer_.experts.expert.gated, false, false, 0};
  }

  void attention() {
    const AttentionShape& a = layer_.attention;
    if (a.latent()) {
      add("multi-latent-attention");
      if (a.q_rank > 0) add("q-lora-rank", a.q_rank);
      add("kv-lora-rank", a.kv_rank);
      add("qk-head-dim", a.head_dim - a.rope_dim);
      add("qk-pos-emb-head-dim", a.rope_dim);
      add("v-head-dim", a.value_dim);
    } else if (a.kv_heads != a.heads) {
      add("group-query-attention");
      add("num-query-groups", a.kv_heads);
    }
    if (!a.latent() && a.heads > 0 && a.head_dim * a.heads != model_.hidden) {
      add("kv-channels", a.head_dim);
    }
    if (a.qkv_bias && !biased()) add("add-qkv-bias");
    if (a.qk_norm > 0 || a.latent()) add("qk-layernorm");
    if (a.rotary) add("position-embedding-type rope");
    if (!a.rotary && model_.learned_positions == 0) add("position-embedding-type none");
  }

  /// Whether products have biases: Megatron-LM's own.
  bool biased() const { return layer_.attention.out_bias; }

  void kinds() {
    if (dense().gated) add("swiglu");
    if (layer_.norm == NormKind::kRmsNorm) add("normalization RMSNorm");
    if (!biased()) add("disable-bias-linear");
    if (!model_.tied_embeddings) add("untie-embeddings-and-output-weights");
    if (!model_.attention_dropout) add("attention-dropout 0");
    if (!model_.hidden_dropout) add("hidden-dropout 0");
  }

  void experts() {
    const Experts& experts = layer_.experts;
    if (experts.count == 0) return;
    add("num-experts", experts.count);
    add("moe-router-topk", experts.top_k);
    add("moe-ffn-hidden-size", experts.expert.intermediate);
    if (experts.shared.intermediate > 0) {
      add("moe-shared-expert-intermediate-size", experts.shared.intermediate);
    }
    if (const std::string pattern = expert_pattern(model_); !pattern.empty()) {
      add(fmt::format("moe-layer-freq '{}'", pattern));
    }
    if (!experts.router_bias) return;
    add("moe-router-enable-expert-bias");
    add("moe-router-score-function sigmoid");
  }

  const Model& model_;
  const Layer& layer_;
  std::int64_t sequence_;
  std::vector<std::string> flags_;
};

}  // namespace

std::vector<std::string> megatron_model_flags(const Model& model, std::int64_t sequence) {
  return ModelWriter(model, sequence).flags();
}

}  // namespace flopcast::parallel
