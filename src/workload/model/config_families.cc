// From a family's row and the fields of a config to a model.
#include "workload/model/config_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace flopcast::workload {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> rows;
    for (const auto part : {dense_families(), expert_families(), hybrid_families()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

bool is_on(Fields& fields, const Switch& option) {
  return option.field.empty() ? option.otherwise : fields.flag({option.field}, option.otherwise);
}

namespace {

std::int64_t norm_values(Fields& fields, const Family& family, const AttentionShape& a) {
  if (family.qk_norm == QkNorm::kNone || !is_on(fields, family.has_qk_norm)) return 0;
  const std::int64_t heads = a.heads + a.kv_heads;
  const bool per_head = family.qk_norm == QkNorm::kEachHead || family.qk_norm == QkNorm::kWhole;
  const std::int64_t rows = per_head ? heads : family.qk_norm == QkNorm::kHeadBias ? 4 : 2;
  return rows * a.head_dim;
}

std::int64_t values_of(const Vectors& vectors, const Model& model, const AttentionShape& a,
                       std::int64_t intermediate) {
  return vectors.fixed + vectors.hidden * model.hidden + vectors.heads * a.heads +
         vectors.head_dim * a.head_dim + vectors.queries * a.heads * a.head_dim +
         vectors.intermediate * intermediate + vectors.rope_dim * a.rope_dim;
}

void read_gate(Fields& fields, const Family& family, AttentionShape& a) {
  if (family.gate == Gate::kPerHeadOrValue) {
    const nlohmann::json* told = fields.find({"gating"});
    a.head_gate = told == nullptr || *told == true || *told == "per-head";
    a.output_gate = !a.head_gate;
  } else if (family.gate != Gate::kNone && is_on(fields, family.has_gate)) {
    (family.gate == Gate::kValues ? a.output_gate : a.head_gate) = true;
  }
  if (a.output_gate && a.qkv_bias && !a.latent()) {
    fields.refuse({family.qkv_bias.field}, "biases beside a gate are not modelled");
  }
}

AttentionShape read_attention(Fields& fields, const Model& model, const Family& family) {
  if (family.mixer.no_attention) return {};
  AttentionShape a = read_heads(fields, model, family.latent ? kAnyHeadDim : family.head_dim);
  if (family.latent) {
    read_latent(fields, a);
  } else {
    a.value_dim = fields.positive({"v_head_dim"}, a.head_dim, 1 << 14);
  }
  if (family.sparse) read_indexer(fields, a);
  a.rotary = family.positions == Positions::kRotary;
  if (!family.latent) {
    a.qkv_bias = is_on(fields, family.qkv_bias);
    a.out_bias = is_on(fields, family.out_bias);
  }
  if (a.heads % (a.kv_heads * family.windows.key_heads) != 0) {
    fields.refuse({"num_key_value_heads"},
                  fmt::format("{} times as many, in windows, must divide {}",
                              family.windows.key_heads, fields.spelled(kHeads)));
  }
  a.sinks = family.sinks;
  read_gate(fields, family, a);
  a.qk_norm = norm_values(fields, family, a);
  a.vectors += values_of(family.attention_vectors, model, a, 0);
  return a;
}

/// Some families count several products together, or mean a larger width than they have.
std::int64_t read_width(Fields& fields, const Model& model, const Family& family) {
  const std::int64_t times = fields.positive({"intermediate_multiple_size"}, 4, 64);
  const std::int64_t told = family.four_hidden
                                ? fields.positive(kIntermediate, times * model.hidden)
                            : fields.find({"dense_intermediate_size"}) != nullptr
                                ? fields.need({"dense_intermediate_size"})
                                : fields.need(kIntermediate);
  if (!family.two_thirds || !fields.flag({"block_auto_adjust_ff_dim"}, true)) {
    return std::max<std::int64_t>(told / family.intermediate_parts, 1);
  }
  const double factor = fields.number({"block_ffn_dim_multiplier"}, 1);
  const std::int64_t multiple = fields.positive({"block_multiple_of"}, 256, 1 << 16);
  const auto cut = static_cast<std::int64_t>(std::clamp(
      factor * static_cast<double>(2 * told / 3), 1.0, static_cast<double>(Fields::kMostWidth)));
  return (cut + multiple - 1) / multiple * multiple;
}

FeedForward read_mlp(Fields& fields, const Model& model, const Family& family) {
  FeedForward mlp;
  mlp.intermediate = read_width(fields, model, family);
  mlp.gated = family.gated;
  mlp.bias = is_on(fields, family.mlp_bias);
  mlp.vectors = values_of(family.mlp_vectors, model, {}, mlp.intermediate);
  return mlp;
}

void read_shared(Fields& fields, const ExpertTraits& traits, Experts& experts) {
  const Keys kWidth = {"shared_expert_intermediate_size", "shared_intermediate_size",
                       "moe_shared_expert_intermediate_size", "shared_experts_intermediate_size"};
  const Keys kCount = {"num_shared_experts", "n_shared_experts", "num_shared_expert",
                       "moe_num_shared_experts", "shared_experts"};
  experts.shared = experts.expert;
  if (traits.shared == SharedExpert::kNone) {
    experts.shared.intermediate = 0;
  } else if (traits.shared == SharedExpert::kOne) {
    experts.shared.intermediate = experts.expert.intermediate;
  } else if (traits.shared == SharedExpert::kWidth) {
    experts.shared.intermediate = fields.need(kWidth, 1 << 20, 0);
  } else {
    const std::int64_t width = fields.positive(kWidth, experts.expert.intermediate, 1 << 20);
    experts.shared.intermediate = fields.times(kCount, fields.need(kCount, 1 << 10, 0), width);
  }
  experts.shared_gate = traits.shared_gate && experts.shared.intermediate > 0;
}

Experts read_experts(Fields& fields, const Family& family) {
  const ExpertTraits& traits = family.experts;
  const nlohmann::json* count = fields.find(kExpertCount);
  // Granite 4 without experts has its shared one alone.
  if (traits.optional && count != nullptr && count->is_number() && *count == 0) return {};
  Experts experts = read_routed_experts(
      fields, kExpertCount,
      traits.in_intermediate ? Keys{"intermediate_size", "ffn_hidden_size"} : kExpertWidth);
  experts.expert.gated = traits.gated;
  experts.router_bias = is_on(fields, traits.router_bias);
  read_shared(fields, traits, experts);
  experts.shared.bias = experts.shared.intermediate > 0 && is_on(fields, family.mlp_bias);
  read_expert_groups(fields, experts);
  return experts;
}

/// Every so many layers sees all; or a text with a letter for each of a period (EXAONE 4: "LLLG").
std::int64_t window_period(Fields& fields, const Family& family) {
  const Keys kPattern = {"sliding_window_pattern", "global_attn_every_n_layers"};
  const nlohmann::json* told = fields.find(kPattern);
  if (told != nullptr && told->is_string()) {
    const std::string text = told->get<std::string>();
    if (!text.empty() && text.find_first_not_of('L') == text.size() - 1 && text.ends_with('G')) {
      return static_cast<std::int64_t>(text.size());
    }
    fields.refuse(kPattern, "expected a number, or L for each layer before a G");
  } else if (told != nullptr && family.windows.period > 0) {
    return fields.positive(kPattern, family.windows.period);
  }
  return family.windows.period;
}

/// Of the product that mixes the copies of the stream before or after a block.
std::int64_t mixing_values(Fields& fields, const Model& model, const Family& family) {
  if (family.streams == Streams::kNone) return 0;
  const std::int64_t streams = fields.need({"hc_mult"}, 64);
  const bool twice = family.streams == Streams::kTwice;
  const std::int64_t rows = twice ? 2 * streams : (2 + streams) * streams;
  return rows * (streams * model.hidden + 1) + (twice ? 2 : 3);
}

/// Of the product that makes one of them in the end.
std::int64_t joining_values(Fields& fields, const Model& model, const Family& family) {
  if (family.streams == Streams::kNone) return 0;
  const std::int64_t streams = fields.need({"hc_mult"}, 64);
  return streams * (streams * model.hidden + 1) + 1;
}

/// The kinds of layers that a family's are made of.
struct Parts {
  Layer plain;  ///< what all have
  FeedForward dense;
  Experts experts;
  Recurrence recurrence;
  std::vector<bool> without_experts, without_indexer, windowed;
  std::vector<bool> attends;  ///< empty: all, or none
  std::int64_t window = 0;
};

/// To a window, without an indexer.
void look_back(const Parts& parts, const Family& family, AttentionShape& attention) {
  attention.window = parts.window;
  attention.index_top_k = attention.index_heads = attention.index_dim = 0;
  if (family.windows.sinks) attention.sinks = true;
  if (!attention.latent()) attention.kv_heads *= family.windows.key_heads;
}

Layer layer_of(const Parts& parts, const Family& family, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  Layer layer = parts.plain;
  const bool recurs = family.mixer.mixer != Mixer::kNone && !family.mixer.beside &&
                      (parts.attends.empty() || !parts.attends[at]);
  if (family.mixer.beside || recurs) layer.recurrence = parts.recurrence;
  if (recurs) layer.attention = {};
  if (layer.attention.heads > 0 && parts.windowed[at]) look_back(parts, family, layer.attention);
  layer.attention.shares_index = layer.attention.sparse() && parts.without_indexer[at];
  if (recurs && family.mixer.alone) return layer;
  const bool dense = parts.experts.count == 0 || parts.without_experts[at];
  if (!dense) {
    layer.experts = parts.experts;
    return layer;
  }
  layer.mlp = parts.dense;
  if (layer.norms == 3) layer.norms = 2;  // experts alone have one behind them
  return layer;
}

/// Every name under which configs say which layers attend.
void need_attending(Fields& fields) {
  const Keys kNames = {"layer_types",        "layers_block_type", "attn_layer_period",
                       "attn_layer_indices", "full_attn_idxs",    "attn_type_list",
                       "linear_attn_config"};
  if (fields.find(kNames) == nullptr) {
    fields.need(kNames);
  } else {
    fields.refuse(kNames, "does not say which layers attend");
  }
}

Parts read_parts(Fields& fields, Model& model, const Family& family, std::int64_t layers) {
  Parts parts;
  Layer& plain = parts.plain;
  plain.norm = family.norm;
  plain.norms = family.norms + (is_on(fields, family.more_norms) ? 2 : 0);
  plain.parallel = is_on(fields, family.parallel);
  if (plain.parallel) plain.norms = family.one_norm ? 1 : 2;
  plain.attention = read_attention(fields, model, family);
  plain.vectors = values_of(family.layer_vectors, model, plain.attention, 0) +
                  2 * mixing_values(fields, model, family);
  parts.recurrence = read_mixer(fields, model, family.mixer, plain.attention);
  const bool mixes = family.mixer.mixer != Mixer::kNone && !family.mixer.beside;
  if (mixes && !family.mixer.no_attention) {
    const auto attends = attending_layers(fields, layers);
    if (attends) {
      parts.attends = *attends;
    } else if (!family.mixer.otherwise_all) {
      need_attending(fields);
    }
  }
  if (family.experts.any) parts.experts = read_experts(fields, family);
  parts.without_experts = layers_without_experts(fields, layers);
  parts.without_indexer = layers_without_indexer(fields, layers);
  parts.windowed = windowed_layers(fields, layers, window_period(fields, family));
  parts.window =
      fields.get({"sliding_window", "window_size", "attention_window_size"}, 0, Fields::kMostRows);
  return parts;
}

void read_feed_forwards(Fields& fields, const Model& model, const Family& family, Parts& parts) {
  if (family.mixer.alone) return;
  const bool none = family.experts.any && parts.experts.count == 0 &&
                    family.experts.shared == SharedExpert::kWidth;
  if (none) {
    parts.dense = {.intermediate = fields.need({"shared_intermediate_size"}, 1 << 20),
                   .gated = family.gated};
  } else if (parts.experts.count == 0 ||
             std::ranges::find(parts.without_experts, true) != parts.without_experts.end()) {
    parts.dense = read_mlp(fields, model, family);
  }
}

void read_positions(Fields& fields, Model& model, const Family& family) {
  if (family.positions != Positions::kLearned && family.positions != Positions::kLearnedOffset) {
    return;
  }
  model.learned_positions = model.max_sequence =
      fields.need({"max_position_embeddings", "n_positions"}, Fields::kMostRows);
  if (family.positions == Positions::kLearnedOffset) model.learned_positions += 2;
}

/// Laguna tells the heads of each layer in a list.
void add_heads_of_layers(Fields& fields, std::int64_t layers,
                         std::map<std::int64_t, nlohmann::json>& overrides) {
  const Keys kHeadsOfLayers = {"num_attention_heads_per_layer"};
  const nlohmann::json* list = fields.find(kHeadsOfLayers);
  if (list == nullptr) return;
  if (!list->is_array() || static_cast<std::int64_t>(list->size()) != layers) {
    fields.refuse(kHeadsOfLayers, fmt::format("expected the heads of each of {} layers", layers));
    return;
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    overrides[i]["num_attention_heads"] = (*list)[static_cast<std::size_t>(i)];
  }
}

/// transformers 5 keeps what differs in some layers in an object with a key for each of them.
std::map<std::int64_t, nlohmann::json> read_overrides(Fields& fields, std::int64_t layers) {
  const Keys kOverrides = {"per_layer_config"};
  std::map<std::int64_t, nlohmann::json> overrides;
  add_heads_of_layers(fields, layers, overrides);
  const nlohmann::json* object = fields.find(kOverrides);
  if (object == nullptr || !object->is_object()) return overrides;
  for (const auto& [key, changed] : object->items()) {
    const bool digits =
        !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t layer = digits ? std::stoll(key) : layers;
    if (layer >= layers || !changed.is_object()) {
      fields.refuse(kOverrides,
                    fmt::format("{}: expected an object for one of {} layers", key, layers));
    } else {
      overrides[layer].update(changed);
    }
  }
  return overrides;
}

void add_layers_of(Fields& fields, Model& model, const Family& family, std::int64_t layers,
                   const Parts& parts) {
  const auto overrides = read_overrides(fields, layers);
  std::map<std::string, Parts> changed;
  for (const auto& [layer, change] : overrides) {
    const auto [entry, is_new] = changed.try_emplace(change.dump());
    if (!is_new) continue;
    Fields with = fields.with(change);
    entry->second = read_parts(with, model, family, layers);
    read_feed_forwards(with, model, family, entry->second);
    fields.absorb(with);
  }
  add_layers(model, layers, [&](std::int64_t i) {
    const auto own = overrides.find(i);
    return layer_of(own == overrides.end() ? parts : changed.at(own->second.dump()), family, i);
  });
}

}  // namespace

void read_family(Fields& fields, Model& model, const Family& family) {
  for (const std::string_view group : family.groups) fields.open(group);
  const std::int64_t layers = read_ends(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, family.tied);
  model.head_bias = is_on(fields, family.head_bias);
  model.final_norm = family.final_norm;
  model.embedding_norm = family.embedding_norm;
  read_positions(fields, model, family);
  Parts parts = read_parts(fields, model, family, layers);
  read_feed_forwards(fields, model, family, parts);
  model.vectors = values_of(family.model_vectors, model, parts.plain.attention, 0) +
                  joining_values(fields, model, family);
  if (!family.unpriced.empty()) model.unpriced.emplace_back(family.unpriced);
  add_layers_of(fields, model, family, layers, parts);
}

}  // namespace flopcast::workload
