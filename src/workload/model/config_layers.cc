// Which layers are what: configs say it by a word for each, by numbers of some, by a period, or by how many come first.
#include <fmt/format.h>

#include <algorithm>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

std::size_t index_of(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Every `period`-th layer, of which the first is `offset`.
struct Every {
  std::int64_t period = 1, offset = 0;
  bool has(std::int64_t i) const { return i % period == offset; }
};

std::vector<bool> of_all(std::int64_t layers, const std::function<bool(std::int64_t)>& is) {
  std::vector<bool> all(index_of(layers));
  for (std::int64_t i = 0; i < layers; ++i) all[index_of(i)] = is(i);
  return all;
}

/// Qwen: every so many layers has experts, but for those named.
std::vector<bool> by_sparse_step(Fields& fields, std::int64_t layers) {
  const std::int64_t step = fields.positive({"decoder_sparse_step"}, 1);
  const std::vector<bool> named = fields.named_layers({"mlp_only_layers"}, layers);
  return of_all(layers, [&](std::int64_t i) {
    return (i + 1) % step != 0 || (!named.empty() && named[index_of(i)]);
  });
}

/// ERNIE 4.5: experts from one layer to another.
std::vector<bool> by_range(Fields& fields, std::int64_t layers) {
  const std::int64_t first = fields.get({"moe_layer_start_index"}, 0);
  const std::int64_t last =
      fields.find({"moe_layer_end_index"}) == nullptr || *fields.find({"moe_layer_end_index"}) == -1
          ? layers - 1
          : fields.get({"moe_layer_end_index"}, layers - 1);
  const std::int64_t step = fields.positive({"moe_layer_interval"}, 1);
  return of_all(layers,
                [&](std::int64_t i) { return i < first || i > last || (i + 1) % step != 0; });
}

/// The first ones, then every so many; or one number for each layer (MiMo).
std::vector<bool> by_first(Fields& fields, std::int64_t layers) {
  const Keys kStep = {"moe_layer_freq"};
  const nlohmann::json* each = fields.find(kStep);
  if (each != nullptr && each->is_array()) {
    const bool whole = static_cast<std::int64_t>(each->size()) == layers &&
                       std::ranges::all_of(*each, [](const nlohmann::json& entry) {
                         return entry == 0 || entry == 1;
                       });
    if (!whole) fields.refuse(kStep, fmt::format("expected 0 or 1 for each of {} layers", layers));
    return of_all(layers, [&](std::int64_t i) { return whole && (*each)[index_of(i)] == 0; });
  }
  const std::int64_t first =
      fields.get({"first_k_dense_replace", "num_dense_layers", "dense_layers"}, 0);
  const std::int64_t step = fields.positive(kStep, 1);
  return of_all(layers, [&](std::int64_t i) { return i < first || i % step != 0; });
}

Every read_every(Fields& fields, std::string_view period, std::string_view offset) {
  Every every;
  every.period = fields.positive({period}, 1);
  every.offset = fields.get({offset}, 0);
  if (every.offset >= every.period) {
    fields.refuse({offset}, fmt::format("must be less than {}", period));
  }
  return every;
}

bool attends(const std::string& word) {
  constexpr std::string_view kAttends[] = {"full_attention", "attention", "sliding_attention",
                                           "indexed_attention"};
  return std::ranges::find(kAttends, word) != std::end(kAttends);
}

/// Kimi Linear: an object that numbers the layers from 1.
std::vector<bool> by_linear_config(Fields& fields, std::int64_t layers) {
  const nlohmann::json* object = fields.find({"linear_attn_config"});
  if (object == nullptr || !object->is_object()) return {};
  Fields inside(*object, "");
  std::vector<bool> named = inside.named_layers({"full_attn_layers"}, layers, 1);
  fields.absorb(inside);
  return named;
}

/// MiniMax-Text-01: 1 where a layer attends.
std::vector<bool> by_numbers(Fields& fields, std::int64_t layers) {
  const nlohmann::json* list = fields.find({"attn_type_list"});
  if (list == nullptr || !list->is_array() || static_cast<std::int64_t>(list->size()) != layers) {
    return {};
  }
  return of_all(layers, [&](std::int64_t i) { return (*list)[index_of(i)] == 1; });
}

}  // namespace

std::vector<bool> layers_without_experts(Fields& fields, std::int64_t layers) {
  const std::vector<std::string> words =
      fields.of_layers({"mlp_layer_types"}, layers, {"dense", "sparse"});
  if (!words.empty()) {
    return of_all(layers, [&](std::int64_t i) { return words[index_of(i)] == "dense"; });
  }
  if (fields.find({"decoder_sparse_step", "mlp_only_layers"}) != nullptr) {
    return by_sparse_step(fields, layers);
  }
  if (fields.find({"expert_layer_period"}) != nullptr) {
    const Every every = read_every(fields, "expert_layer_period", "expert_layer_offset");
    return of_all(layers, [&](std::int64_t i) { return !every.has(i); });
  }
  if (fields.find({"moe_layer_start_index"}) != nullptr) return by_range(fields, layers);
  return by_first(fields, layers);
}

std::vector<std::string> layer_words(Fields& fields, std::int64_t layers) {
  return fields.of_layers({"layer_types", "layers_block_type", "attention_layers"}, layers,
                          {"full_attention", "sliding_attention", "attention", "linear_attention",
                           "mamba", "conv", "indexed_attention", "hybrid", "global", "local"});
}

std::optional<std::vector<bool>> attending_layers(Fields& fields, std::int64_t layers) {
  const std::vector<std::string> words = layer_words(fields, layers);
  if (!words.empty()) {
    return of_all(layers, [&](std::int64_t i) { return attends(words[index_of(i)]); });
  }
  for (const std::vector<bool>& named :
       {fields.named_layers({"attn_layer_indices", "full_attn_idxs"}, layers),
        by_linear_config(fields, layers), by_numbers(fields, layers)}) {
    if (!named.empty()) return named;
  }
  if (fields.find({"attn_layer_period"}) == nullptr) return std::nullopt;
  const Every every = read_every(fields, "attn_layer_period", "attn_layer_offset");
  return of_all(layers, [&](std::int64_t i) { return every.has(i); });
}

std::vector<bool> windowed_layers(Fields& fields, std::int64_t layers, std::int64_t period) {
  const std::vector<std::string> words = layer_words(fields, layers);
  return of_all(layers, [&](std::int64_t i) {
    if (words.empty()) return period == 0 || (i + 1) % period != 0;
    return words[index_of(i)] == "sliding_attention" || words[index_of(i)] == "local";
  });
}

// As transformers derives what is not told (configuration_glm_moe_dsa.py).
std::vector<bool> layers_without_indexer(Fields& fields, std::int64_t layers) {
  const std::vector<std::string> words =
      fields.of_layers({"indexer_types"}, layers, {"full", "shared"});
  if (!words.empty()) {
    return of_all(layers, [&](std::int64_t i) { return words[index_of(i)] == "shared"; });
  }
  const std::string pattern = fields.text({"index_topk_pattern"}, "");
  if (!pattern.empty()) {
    const bool whole = static_cast<std::int64_t>(pattern.size()) == layers &&
                       pattern.find_first_not_of("FS") == std::string::npos;
    if (!whole) fields.refuse({"index_topk_pattern"}, "expected F or S for each layer");
    return of_all(layers, [&](std::int64_t i) { return whole && pattern[index_of(i)] == 'S'; });
  }
  const std::int64_t step = fields.positive({"index_topk_freq"}, 1);
  const std::int64_t offset = fields.get({"index_skip_topk_offset"}, 2);
  return of_all(layers, [&](std::int64_t i) {
    return std::max<std::int64_t>(i - offset + 1, 0) % step != 0;
  });
}

}  // namespace flopcast::workload
