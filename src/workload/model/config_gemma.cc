// Google's Gemma: tables tied, windows in most layers, norms behind every block; from 3n on inputs of every layer's own.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

/// A layer of the family, of whatever attention.
struct Gemma {
  std::int64_t layers = 0;
  Layer layer;
};

Gemma read_common_gemma(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  Gemma gemma{sizes.layers, {}};
  gemma.layer.attention = sizes.attention;
  gemma.layer.attention.qkv_bias = gemma.layer.attention.out_bias =
      fields.flag({"attention_bias"}, false);
  return gemma;
}

/// Numbers of a list with one for each layer, or one number for all: only one width at a time is modelled.
std::int64_t read_gemma_width(Fields& fields, std::int64_t layers) {
  const Keys kWidth = {"intermediate_size"};
  const nlohmann::json* list = fields.find(kWidth);
  if (list == nullptr || !list->is_array()) return fields.need(kWidth);
  const bool alike = static_cast<std::int64_t>(list->size()) == layers && !list->empty() &&
                     std::ranges::all_of(*list, [&](const auto& entry) {
                       return entry.is_number_integer() && entry == (*list)[0] && entry > 0 &&
                              entry < Fields::kMostWidth;
                     });
  if (alike) return (*list)[0].template get<std::int64_t>();
  fields.refuse(kWidth, fmt::format("expected the same width for each of {} layers", layers));
  return 1;
}

void add_windowed(Fields& fields, Model& model, const Gemma& gemma, std::int64_t window,
                  std::int64_t period) {
  const std::vector<bool> windowed = windowed_layers(fields, gemma.layers, period);
  add_layers(model, gemma.layers, [&](std::int64_t i) {
    Layer layer = gemma.layer;
    if (windowed[static_cast<std::size_t>(i)]) layer.attention.window = window;
    return layer;
  });
}

/// Inputs of every layer's own: a table of all layers, and a gate with two products in each.
void read_layer_inputs(Fields& fields, Model& model, Layer& layer) {
  model.layer_embedding = fields.get({"hidden_size_per_layer_input"}, 256, 1 << 14);
  if (model.layer_embedding == 0) return;
  model.layer_vocab =
      fields.positive({"vocab_size_per_layer_input"}, model.vocab, Fields::kMostRows);
  model.vectors += model.layer_embedding;
  layer.side += model.layer_embedding;
  layer.vectors += model.hidden;
}

/// The last layers attend to what earlier ones kept.
bool takes_keys(Fields& fields, std::int64_t layers, std::int64_t i) {
  return i >= layers - fields.get({"num_kv_shared_layers"}, 0, layers);
}

/// Four streams, of which one passes the layer: a router, coefficients and products that bring them together
/// (AltUp, Baykal et al., arXiv:2301.13310).
void read_alternating_updates(Fields& fields, Model& model, Layer& layer) {
  const std::int64_t streams = fields.positive({"altup_num_inputs"}, 4, 64);
  const std::int64_t h = model.hidden;
  model.vectors += 2 * (streams - 1) * h * h;
  layer.vectors += streams * streams + streams * streams * streams + streams * h + 2 * h;
  model.unpriced.push_back(fmt::format("{} streams of hidden states (AltUp)", streams));
}

}  // namespace

void read_gemma(Fields& fields, Model& model) {
  Gemma gemma = read_common_gemma(fields, model);
  gemma.layer.mlp = {.intermediate = fields.need(kIntermediate)};
  add_layers(model, gemma.layers, [&](std::int64_t) { return gemma.layer; });
}

void read_gemma2(Fields& fields, Model& model) {
  Gemma gemma = read_common_gemma(fields, model);
  gemma.layer.mlp = {.intermediate = fields.need(kIntermediate)};
  gemma.layer.norms = 4;
  add_windowed(fields, model, gemma, fields.get({"sliding_window"}, 4096, Fields::kMostRows), 2);
}

void read_gemma3(Fields& fields, Model& model) {
  Gemma gemma = read_common_gemma(fields, model);
  gemma.layer.mlp = {.intermediate = fields.need(kIntermediate)};
  gemma.layer.norms = 4;
  gemma.layer.attention.qk_norm = 2 * gemma.layer.attention.head_dim;
  add_windowed(fields, model, gemma, fields.get({"sliding_window"}, 4096, Fields::kMostRows),
               fields.positive({"sliding_window_pattern"}, 6));
}

void read_gemma3n(Fields& fields, Model& model) {
  Gemma gemma = read_common_gemma(fields, model);
  Layer& layer = gemma.layer;
  layer.mlp = {.intermediate = read_gemma_width(fields, gemma.layers)};
  layer.norms = 4;
  read_layer_inputs(fields, model, layer);
  read_alternating_updates(fields, model, layer);
  layer.side += fields.get({"laurel_rank"}, 64, 1 << 14);
  layer.vectors += model.hidden;  // the norm behind those two products
  const std::int64_t window = fields.get({"sliding_window"}, 512, Fields::kMostRows);
  const std::vector<bool> windowed = windowed_layers(fields, gemma.layers, 5);
  add_layers(model, gemma.layers, [&](std::int64_t i) {
    Layer made = layer;
    AttentionShape& a = made.attention;
    a.shares_keys = takes_keys(fields, gemma.layers, i);
    a.qk_norm = (a.shares_keys ? 1 : 2) * a.head_dim;
    if (windowed[static_cast<std::size_t>(i)]) a.window = window;
    return made;
  });
}

namespace {

/// Dense and expert feed-forward side by side count as a shared expert.
void read_gemma4_experts(Fields& fields, const Model& model, Layer& layer) {
  if (!fields.flag({"enable_moe_block"}, false)) return;
  layer.experts = read_routed_experts(fields, {"num_experts"}, {"moe_intermediate_size"});
  layer.experts.shared = std::exchange(layer.mlp, {});
  layer.experts.vectors = model.hidden + layer.experts.count;  // scales of the router
  layer.vectors += 3 * model.hidden;                           // norms around the two
}

/// transformers 5 keeps what layers that see all have of their own in an object with a key for each of them.
nlohmann::json read_told_of_global(Fields& fields) {
  const Keys kOverrides = {"per_layer_config"};
  const nlohmann::json* object = fields.find(kOverrides);
  if (object == nullptr || !object->is_object() || object->empty()) return nlohmann::json::object();
  const nlohmann::json first = object->begin().value();
  for (const auto& [key, told] : object->items()) {
    if (told != first || !told.is_object()) {
      fields.refuse(kOverrides, fmt::format("{} has {}, but {} has {}: only one kind is modelled",
                                            object->begin().key(), first.dump(), key, told.dump()));
      return nlohmann::json::object();
    }
    for (const auto& [name, value] : told.items()) {
      if (name != "head_dim" && name != "num_key_value_heads") {
        fields.refuse(kOverrides, fmt::format("{} of single layers is not modelled", name));
      }
    }
  }
  return first;
}

/// Every so many layers sees all, with wider heads.
AttentionShape read_global(Fields& fields, const AttentionShape& near) {
  AttentionShape global = near;
  const nlohmann::json told = read_told_of_global(fields);
  Fields own = fields.with(told);
  global.head_dim = global.value_dim = told.contains("head_dim")
                                           ? own.positive({"head_dim"}, 512, 1 << 14)
                                           : fields.positive({"global_head_dim"}, 512, 1 << 14);
  global.qk_norm = 2 * global.head_dim;
  global.keys_are_values = fields.flag({"attention_k_eq_v"}, false);
  if (!global.keys_are_values) return global;
  const Keys kKeyHeads = {"num_global_key_value_heads"};
  global.kv_heads = told.contains("num_key_value_heads")
                        ? own.get({"num_key_value_heads"}, 1, 1 << 16)
                        : fields.get(kKeyHeads, global.kv_heads, 1 << 16);
  fields.absorb(own);
  check_shared_heads(fields, kKeyHeads, global);
  return global;
}

}  // namespace

void read_gemma4(Fields& fields, Model& model) {
  const Gemma gemma = read_common_gemma(fields, model);
  Layer near = gemma.layer;
  near.norms = 4;
  near.attention.qk_norm = 2 * near.attention.head_dim;
  near.mlp.intermediate = fields.need({"intermediate_size"});
  if (model.architecture != "gemma4_unified_text") read_layer_inputs(fields, model, near);
  read_gemma4_experts(fields, model, near);
  const AttentionShape global = read_global(fields, near.attention);
  near.attention.window = fields.get({"sliding_window"}, 512, Fields::kMostRows);
  const bool widens = fields.flag({"use_double_wide_mlp"}, false);
  const std::vector<bool> windowed = windowed_layers(fields, gemma.layers, 6);
  add_layers(model, gemma.layers, [&](std::int64_t i) {
    Layer made = near;
    if (!windowed[static_cast<std::size_t>(i)]) made.attention = global;
    AttentionShape& a = made.attention;
    a.shares_keys = takes_keys(fields, gemma.layers, i);
    if (a.shares_keys) a.qk_norm = a.head_dim;
    if (a.shares_keys && widens) made.mlp.intermediate *= 2;
    return made;
  });
}

}  // namespace flopcast::workload
