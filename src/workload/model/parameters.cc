// Numbers of parameters, from the shapes.
#include <algorithm>

#include "flopcast/workload.h"

namespace flopcast {
namespace {

std::int64_t norm_parameters(NormKind kind, std::int64_t width) {
  return kind == NormKind::kLayerNorm ? 2 * width : width;
}

std::int64_t attention_parameters(const AttentionShape& a, std::int64_t hidden) {
  if (a.heads == 0) return 0;
  const std::int64_t queries = a.heads * a.head_dim;
  const std::int64_t values = a.heads * a.value_dim;
  std::int64_t total = values * hidden + (a.out_bias ? hidden : 0);
  if (a.latent()) {
    const std::int64_t per_head = a.head_dim - a.rope_dim + a.value_dim;
    total += a.q_rank > 0 ? hidden * a.q_rank + a.q_rank + a.q_rank * queries : hidden * queries;
    total += hidden * (a.kv_rank + a.rope_dim) + a.kv_rank + a.kv_rank * a.heads * per_head;
  } else {
    const std::int64_t width = a.projection_width();
    total += hidden * width + (a.qkv_bias ? width : 0);
  }
  if (a.sparse()) {
    total += a.q_rank * a.index_heads * a.index_dim + hidden * (a.index_dim + a.index_heads) +
             2 * a.index_dim;
  }
  return total + a.qk_norm + (a.sinks ? a.heads : 0);
}

std::int64_t recurrence_parameters(const Recurrence& r, std::int64_t hidden) {
  if (r.heads == 0) return 0;
  const bool space = r.kind == RecurrenceKind::kStateSpace;
  // Per head a decay and the bias of its step; the state space passes its input on, too.
  const std::int64_t vectors = (space ? 3 : 2) * r.heads;
  const std::int64_t norm = space ? r.value_width() : r.value_dim;
  return hidden * (r.projection_width() + r.value_width()) +
         r.channels() * (r.taps + (r.taps_bias ? 1 : 0)) + vectors + norm;
}

std::int64_t mlp_parameters(const FeedForward& mlp, std::int64_t hidden) {
  if (mlp.intermediate == 0) return 0;
  const std::int64_t up = mlp.gated ? 2 : 1;
  return (up + 1) * hidden * mlp.intermediate + (mlp.bias ? up * mlp.intermediate + hidden : 0);
}

/// @param experts how many of them count: all, or those one token meets.
std::int64_t experts_parameters(const Experts& e, std::int64_t hidden, std::int64_t experts) {
  if (e.count == 0) return 0;
  return experts * mlp_parameters(e.expert, hidden) + mlp_parameters(e.shared, hidden) +
         e.count * hidden + (e.router_bias ? e.count : 0) + (e.shared_gate ? hidden : 0);
}

std::int64_t layer_parameters(const Layer& layer, std::int64_t hidden, std::int64_t experts) {
  return attention_parameters(layer.attention, hidden) +
         recurrence_parameters(layer.recurrence, hidden) + mlp_parameters(layer.mlp, hidden) +
         experts_parameters(layer.experts, hidden, experts) +
         layer.norms * norm_parameters(layer.norm, hidden);
}

std::int64_t token_width(const Model& model) {
  return model.embedding_width > 0 ? model.embedding_width : model.hidden;
}

std::int64_t embedding_parameters(const Model& model, NormKind norm) {
  const std::int64_t tables = model.learned_positions + model.token_types;
  const std::int64_t width = token_width(model);
  const std::int64_t tokens = model.patch == 0 ? model.vocab * width : 0;
  const std::int64_t patches = model.patch > 0 ? (model.patch + 1) * model.hidden : 0;
  const std::int64_t projection = width != model.hidden ? width * model.hidden : 0;
  return tables * model.hidden + tokens + patches + projection +
         (model.embedding_norm ? norm_parameters(norm, model.hidden) : 0);
}

std::int64_t head_parameters(const Model& model, NormKind norm) {
  const std::int64_t square = model.hidden * model.hidden + model.hidden;
  std::int64_t total = model.final_norm ? norm_parameters(norm, model.hidden) : 0;
  if (model.pooler) total += square;
  if (model.output == Output::kHidden) return total;
  if (model.output == Output::kMaskedTokens) {
    total += square + norm_parameters(norm, model.hidden);
    if (model.pooler) total += 2 * model.hidden + 2;  // next-sentence classifier
  }
  if (token_width(model) != model.hidden) total += token_width(model) * model.hidden;
  if (!model.tied_embeddings) total += model.vocab * token_width(model);
  return total + (model.head_bias ? model.vocab : 0);
}

}  // namespace

std::int64_t Model::count(std::size_t kind) const {
  return std::count(order.begin(), order.end(), static_cast<std::uint16_t>(kind));
}

std::int64_t layer_parameters(const Layer& layer, std::int64_t hidden) {
  return layer_parameters(layer, hidden, layer.experts.count);
}

Parameters count_parameters(const Model& model) {
  const NormKind norm = model.kinds.empty() ? NormKind::kRmsNorm : model.kinds[0].norm;
  Parameters parameters;
  parameters.embedding = embedding_parameters(model, norm);
  parameters.head = head_parameters(model, norm);
  parameters.total = parameters.active = parameters.embedding + parameters.head;
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const Layer& layer = model.kinds[kind];
    const std::int64_t layers = model.count(kind);
    parameters.total += layers * layer_parameters(layer, model.hidden);
    parameters.active +=
        layers *
        layer_parameters(layer, model.hidden, std::min(layer.experts.top_k, layer.experts.count));
  }
  return parameters;
}

}  // namespace flopcast
