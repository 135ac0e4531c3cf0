// Numbers of parameters, from the shapes.
#include <algorithm>

#include "flopcast/workload.h"

namespace flopcast {
namespace {

std::int64_t norm_parameters(NormKind kind, std::int64_t width) {
  if (kind == NormKind::kNoWeights) return 0;
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
    if (a.output_gate) total += hidden * values;
  } else {
    const std::int64_t width = a.projection_width();
    total += hidden * width + (a.qkv_bias ? width : 0);
  }
  if (a.head_gate) total += hidden * a.heads;
  if (a.indexes()) {
    total += a.q_rank * a.index_heads * a.index_dim + hidden * (a.index_dim + a.index_heads) +
             2 * a.index_dim;
  }
  return total + a.qk_norm + a.vectors + (a.sinks ? a.heads : 0);
}

std::int64_t recurrence_parameters(const Recurrence& r, std::int64_t hidden) {
  if (r.heads == 0) return 0;
  const std::int64_t behind = r.kind == RecurrenceKind::kSelective
                                  ? r.value_width() * (r.rank + 2 * r.key_dim)
                                  : 0;  // steps, keys and queries are made behind the convolution
  return hidden * (r.projection_width() + r.value_width()) + behind + r.rank * r.gate_width() +
         (r.bias ? r.projection_width() + hidden : 0) +
         r.channels() * (r.taps + (r.taps_bias ? 1 : 0)) + r.vectors() + r.norm;
}

std::int64_t mlp_parameters(const FeedForward& mlp, std::int64_t hidden) {
  if (mlp.intermediate == 0) return 0;
  const std::int64_t up = mlp.gated ? 2 : 1;
  return (up + 1) * hidden * mlp.intermediate + (mlp.bias ? up * mlp.intermediate + hidden : 0) +
         mlp.vectors;
}

/// @param experts how many of them count: all, or those one token meets.
std::int64_t experts_parameters(const Experts& e, std::int64_t hidden, std::int64_t experts) {
  if (e.count == 0) return 0;
  const std::int64_t width = e.latent > 0 ? e.latent : hidden;
  return experts * mlp_parameters(e.expert, width) + mlp_parameters(e.shared, hidden) +
         (e.count + e.idle) * (hidden + (e.router_bias ? 1 : 0)) + (e.shared_gate ? hidden : 0) +
         2 * e.latent * hidden + e.vectors;
}

std::int64_t layer_parameters(const Layer& layer, std::int64_t hidden, std::int64_t experts) {
  return attention_parameters(layer.attention, hidden) +
         recurrence_parameters(layer.recurrence, hidden) +
         attention_parameters(layer.cross, hidden) + mlp_parameters(layer.mlp, hidden) +
         experts_parameters(layer.experts, hidden, experts) + 2 * layer.side * hidden +
         layer.vectors + layer.norms * norm_parameters(layer.norm, hidden);
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
  const std::int64_t of_layers = model.layer_embedding * model.layers();
  return tables * model.hidden + tokens + patches + projection +
         of_layers * (model.layer_vocab + model.hidden) + model.vectors +
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

std::int64_t Recurrence::channels() const {
  if (taps == 0) return 0;
  const bool alone = kind == RecurrenceKind::kSelective || kind == RecurrenceKind::kConvolution;
  return value_width() + (alone ? 0 : 2 * key_width());
}

std::int64_t Recurrence::gates() const {
  switch (kind) {
    case RecurrenceKind::kStateSpace:
    case RecurrenceKind::kSelective:
      return 1;
    case RecurrenceKind::kGatedDelta:
      return 2;
    case RecurrenceKind::kKeyedDelta:
      return key_dim + 1;
    case RecurrenceKind::kDecay:
    case RecurrenceKind::kConvolution:
      break;
  }
  return 0;
}

std::int64_t Recurrence::projection_width() const {
  switch (kind) {
    case RecurrenceKind::kStateSpace:
    case RecurrenceKind::kGatedDelta:
      return 2 * key_width() + 2 * value_width() + gates() * heads;
    case RecurrenceKind::kKeyedDelta:
      return 2 * key_width() + value_width() + heads +
             (rank > 0 ? 2 * rank : heads * key_dim + value_width());
    case RecurrenceKind::kSelective:
      return 2 * value_width();
    case RecurrenceKind::kDecay:
      return 2 * key_width() + 2 * value_width();
    case RecurrenceKind::kConvolution:
      break;
  }
  return 3 * value_width();
}

std::int64_t Recurrence::gate_width() const {
  if (rank == 0) return 0;
  return value_width() + (kind == RecurrenceKind::kKeyedDelta ? heads * key_dim : 0);
}

std::int64_t Recurrence::vectors() const {
  switch (kind) {
    case RecurrenceKind::kStateSpace:
      return 3 * heads;  // a decay, the bias of its step, what of its input it passes on
    case RecurrenceKind::kGatedDelta:
      return 2 * heads;
    case RecurrenceKind::kKeyedDelta:
      return heads * (key_dim + 1);
    case RecurrenceKind::kSelective:
      return value_width() * (key_dim + 2);
    case RecurrenceKind::kDecay:
    case RecurrenceKind::kConvolution:
      break;
  }
  return 0;
}

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
  for (const std::uint16_t kind : model.encoder) {
    const std::int64_t layer = layer_parameters(model.kinds[kind], model.hidden);
    parameters.total += layer;
    parameters.active += layer;
  }
  return parameters;
}

}  // namespace flopcast
