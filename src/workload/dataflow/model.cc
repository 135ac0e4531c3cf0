// A model of the catalogue, or of a config.json, as the dataflow graph of one of its layers.
#include <fmt/format.h>

#include "flopcast/workload/dataflow.h"

namespace flopcast {
namespace {

Diagnostic refuse(const Model& model, std::string what) {
  return {ErrorCode::kBadInput, model.name, std::move(what),
          "describe its layer as a graph in a TOML file (docs/reference/dataflow.md)"};
}

/// Layers that differ only in how far a token sees are one graph: its scores are those of all.
bool same_graph(const Layer& a, const Layer& b) {
  return a.attention.heads == b.attention.heads && a.attention.kv_heads == b.attention.kv_heads &&
         a.attention.head_dim == b.attention.head_dim && a.mlp == b.mlp;
}

Result<Layer> only_layer(const Model& model) {
  if (model.kinds.empty()) return refuse(model, "has no layers");
  if (!model.unpriced.empty()) return refuse(model, "has " + model.unpriced.front());
  for (const Layer& layer : model.kinds) {
    if (layer.experts.count > 0) return refuse(model, "has experts, whose tokens no graph can fix");
    if (layer.attention.latent()) return refuse(model, "has latent attention");
    if (layer.parallel) return refuse(model, "has attention and feed-forward side by side");
    if (layer.recurrence.heads > 0) return refuse(model, "has a state beside attention");
    if (layer.side > 0 || layer.attention.output_gate || layer.attention.head_gate) {
      return refuse(model, "has gates or small products beside its blocks");
    }
    if (layer.attention.heads < 1 || layer.mlp.intermediate < 1) {
      return refuse(model, "has layers without attention or without feed-forward");
    }
    if (!same_graph(layer, model.kinds.front()))
      return refuse(model, "has layers of several shapes");
  }
  return model.kinds.front();
}

TransformerShape shape_of(const Model& model, const Layer& layer) {
  TransformerShape shape;
  shape.hidden = model.hidden;
  shape.heads = layer.attention.heads;
  shape.head_dim = layer.attention.head_dim;
  shape.kv_heads = layer.attention.kv_heads;
  shape.ffn = layer.mlp.intermediate;
  shape.gated = layer.mlp.gated;
  shape.dropout = false;
  return shape;
}

}  // namespace

Result<DataflowWorkload> transformer_workload(const Model& model, DataflowPass pass,
                                              std::int64_t sequence, std::int64_t global_batch) {
  const Result<Layer> layer = only_layer(model);
  if (!layer) return layer.error();
  constexpr std::int64_t kLongest = std::int64_t{1} << 40;
  if (sequence < 1 || sequence > kLongest || global_batch < 1) {
    return Diagnostic{ErrorCode::kUsage, model.name,
                      fmt::format("sequence {}, global batch {}", sequence, global_batch),
                      "give 1 or more of both, at most 2^40 tokens"};
  }
  TransformerShape shape = shape_of(model, *layer);
  shape.dropout =
      pass == DataflowPass::kTraining && (model.attention_dropout || model.hidden_dropout);
  DataflowWorkload workload = transformer_workload(shape, pass, sequence);
  workload.graph.name = fmt::format("{}:{}", model.name, name(pass));
  workload.layers = model.layers();
  workload.global_batch = global_batch;
  return workload;
}

DataflowWorkload transformer_workload(TransformerShape shape, DataflowPass pass,
                                      std::int64_t sequence) {
  const bool decode = pass == DataflowPass::kDecode;
  shape.sequence = decode ? 1 : sequence;
  shape.context = decode ? sequence + 1 : 0;
  DataflowWorkload workload;
  workload.training = pass == DataflowPass::kTraining;
  workload.graph = decode              ? transformer_decode(shape)
                   : workload.training ? transformer_training(shape)
                                       : transformer_forward(shape);
  workload.graph.name = std::string(name(pass));
  workload.tokens = shape.sequence;
  workload.boundary = {static_cast<double>(shape.hidden) * static_cast<double>(shape.sequence) *
                       shape.word};
  workload.word = shape.word;
  return workload;
}

}  // namespace flopcast
