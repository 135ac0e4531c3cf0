// Models and workloads as JSON; docs/reference/json.md names every field.
#include <algorithm>

#include "base/text/json_writer.h"
#include "flopcast/report/model.h"

namespace flopcast {
namespace {

void write_parameters(JsonWriter& json, const Model& model) {
  const Parameters parameters = count_parameters(model);
  json.begin_object("parameters", JsonWriter::Layout::kLine);
  json.integer("total", parameters.total);
  json.integer("active", parameters.active);
  json.integer("embedding", parameters.embedding);
  json.integer("head", parameters.head);
  json.integer("published", model.published_parameters);
  json.end_object();
}

void write_attention(JsonWriter& json, const AttentionShape& attention) {
  json.begin_object("attention", JsonWriter::Layout::kLine);
  json.integer("heads", attention.heads);
  json.integer("kv_heads", attention.kv_heads);
  json.integer("head_dim", attention.head_dim);
  json.integer("value_dim", attention.value_dim);
  json.integer("window", attention.window);
  json.integer("chunk", attention.chunk);
  json.integer("q_rank", attention.q_rank);
  json.integer("kv_rank", attention.kv_rank);
  json.integer("rope_dim", attention.rope_dim);
  json.integer("index_top_k", attention.index_top_k);
  json.boolean("shares_index", attention.shares_index);
  json.boolean("shares_keys", attention.shares_keys);
  json.boolean("causal", attention.causal);
  json.end_object();
}

std::string_view word_for(RecurrenceKind kind) {
  constexpr std::string_view kWords[] = {"state_space", "gated_delta", "keyed_delta",
                                         "selective",   "decay",       "convolution"};
  return kWords[static_cast<std::size_t>(kind)];
}

void write_recurrence(JsonWriter& json, const Recurrence& r) {
  json.begin_object("recurrence", JsonWriter::Layout::kLine);
  json.text("kind", word_for(r.kind));
  json.integer("heads", r.heads);
  json.integer("key_heads", r.key_heads);
  json.integer("key_dim", r.key_dim);
  json.integer("value_dim", r.value_dim);
  json.integer("chunk", r.chunk);
  json.integer("taps", r.taps);
  json.end_object();
}

void write_feed_forward(JsonWriter& json, std::string_view key, const FeedForward& mlp) {
  json.begin_object(key, JsonWriter::Layout::kLine);
  json.integer("intermediate", mlp.intermediate);
  json.boolean("gated", mlp.gated);
  json.end_object();
}

void write_layers(JsonWriter& json, const Model& model, std::size_t kind) {
  const Layer& layer = model.kinds[kind];
  json.begin_object();
  json.integer("count", model.count(kind));
  json.integer("encoder", std::ranges::count(model.encoder, static_cast<std::uint16_t>(kind)));
  json.integer("parameters", layer_parameters(layer, model.hidden));
  write_attention(json, layer.attention);
  if (layer.recurrence.heads > 0) write_recurrence(json, layer.recurrence);
  write_feed_forward(json, "mlp", layer.mlp);
  json.begin_object("experts");
  json.integer("count", layer.experts.count);
  json.integer("top_k", layer.experts.top_k);
  write_feed_forward(json, "expert", layer.experts.expert);
  write_feed_forward(json, "shared", layer.experts.shared);
  json.integer("latent", layer.experts.latent);
  json.integer("idle", layer.experts.idle);
  json.end_object();
  json.boolean("parallel", layer.parallel);
  json.integer("side", layer.side);
  json.end_object();
}

/// Nothing where nothing is said of it.
void write_stored(JsonWriter& json, const StoredPrecision& stored) {
  if (!stored.quantised()) return;
  json.begin_object("stored");
  json.text("method", stored.method);
  json.text("unread", stored.unread);
  json.text("attention", name(stored.attention));
  json.text("dense", name(stored.dense));
  json.text("experts", name(stored.experts));
  json.text("kv_cache", stored.kv_cache ? name(*stored.kv_cache) : "");
  json.texts("mixed", stored.mixed, JsonWriter::Layout::kLine);
  json.end_object();
}

void write_model(JsonWriter& json, const Model& model) {
  json.begin_object();
  json.text("name", model.name);
  json.text("architecture", model.architecture);
  json.text("source", model.source);
  write_parameters(json, model);
  json.integer("hidden", model.hidden);
  json.integer("vocabulary", model.vocab);
  json.integer("max_sequence", model.max_sequence);
  json.boolean("tied_embeddings", model.tied_embeddings);
  write_stored(json, model.stored);
  json.texts("unpriced", model.unpriced, JsonWriter::Layout::kLine);
  json.texts("notes", model.notes, JsonWriter::Layout::kLine);
  json.begin_array("layers");
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) write_layers(json, model, kind);
  json.end_array();
  json.end_object();
}

void write_kernel(JsonWriter& json, const DataflowKernel& kernel) {
  json.begin_object({}, JsonWriter::Layout::kLine);
  json.text("name", kernel.name);
  json.text("kind", name(kernel.kind));
  json.boolean("backward", kernel.backward);
  json.integer("outer", kernel.outer);
  json.integer("m", kernel.m);
  json.integer("n", kernel.n);
  json.integer("k", kernel.k);
  json.ratio("flops", kernel.work().value);
  json.ratio("weight_bytes", kernel.weight.value);
  json.end_object();
}

void write_workload(JsonWriter& json, const DataflowWorkload& workload) {
  json.begin_object();
  json.text("name", workload.graph.name);
  json.boolean("training", workload.training);
  json.integer("layers", workload.layers);
  json.integer("global_batch", workload.global_batch);
  json.integer("tokens", workload.tokens);
  json.begin_array("kernels");
  for (const DataflowKernel& kernel : workload.graph.kernels) write_kernel(json, kernel);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string model_list_json(std::span<const Model> models,
                            std::span<const DataflowWorkload> workloads) {
  JsonWriter json;
  json.begin_object();
  json.begin_array("models");
  for (const Model& model : models) write_model(json, model);
  json.end_array();
  json.begin_array("workloads");
  for (const DataflowWorkload& workload : workloads) write_workload(json, workload);
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
