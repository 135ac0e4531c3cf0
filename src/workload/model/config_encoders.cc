// Encoders: BERT over tokens, ViT over image patches. Attention sees all tokens.
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

Layer encoder_layer(Fields& fields, const CommonSizes& sizes, bool qkv_bias) {
  Layer layer;
  layer.attention = sizes.attention;
  layer.attention.causal = layer.attention.rotary = false;
  layer.attention.qkv_bias = qkv_bias;
  layer.attention.out_bias = true;
  layer.mlp = {.intermediate = fields.need({"intermediate_size"}), .gated = false, .bias = true};
  layer.norm = NormKind::kLayerNorm;
  return layer;
}

/// The first of "architectures", which says what stands on top of the encoder.
std::string head_of(const Fields& fields) {
  const nlohmann::json* list = fields.find({"architectures"});
  if (list == nullptr || !list->is_array() || list->empty() || !(*list)[0].is_string()) return "";
  return (*list)[0].get<std::string>();
}

/// Of an image: counted, or named one by one, else ImageNet's.
std::int64_t classes_of(Fields& fields) {
  constexpr std::int64_t kImageNet = 1000;
  const nlohmann::json* labels = fields.find({"id2label"});
  if (labels != nullptr && (!labels->is_object() || labels->empty())) {
    fields.refuse({"id2label"}, "expected an object with the name of each class");
  }
  const auto named = labels == nullptr ? kImageNet : static_cast<std::int64_t>(labels->size());
  return fields.positive({"num_labels"}, named, Fields::kMostRows);
}

}  // namespace

void read_bert(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  const Layer layer = encoder_layer(fields, sizes, true);
  model.learned_positions = fields.need({"max_position_embeddings"}, Fields::kMostRows);
  model.token_types = fields.get({"type_vocab_size"}, 2, 1 << 16);
  model.embedding_norm = true;
  model.final_norm = false;  // norms come after each block; the last closes the encoder
  const bool bare = head_of(fields) == "BertModel";
  model.output = bare ? Output::kHidden : Output::kMaskedTokens;
  model.pooler = bare || head_of(fields) == "BertForPreTraining";
  model.tied_embeddings = model.head_bias = !bare;
  add_layers(model, sizes.layers, [&](std::int64_t) { return layer; });
}

void read_vit(Fields& fields, Model& model) {
  const bool classes = head_of(fields) != "ViTModel";
  const std::int64_t channels = fields.positive({"num_channels"}, 3, 1 << 12);
  const std::int64_t image = fields.get({"image_size"}, 224, 1 << 13);
  const std::int64_t patch = fields.get({"patch_size"}, 16, 1 << 10);
  if (patch < 1 || image < patch) {
    fields.refuse({"patch_size"}, "must lie between 1 and image_size");
    return;
  }
  const std::int64_t side = image / patch;
  const bool class_token = fields.flag({"use_class_token"}, true);
  model.patch = channels * patch * patch;
  const CommonSizes sizes = read_common(fields, model);
  model.max_sequence =
      fields.positive({"num_patches"}, side * side, Fields::kMostRows) + class_token;
  model.learned_positions = model.max_sequence;
  model.token_types = class_token ? 1 : 0;  // one learned row, joined to the patches
  model.output = classes ? Output::kClasses : Output::kHidden;
  model.vocab = classes ? classes_of(fields) : 0;
  model.pooler = !classes;
  model.head_bias = classes;
  const Layer layer = encoder_layer(fields, sizes, fields.flag({"qkv_bias"}, true));
  add_layers(model, sizes.layers, [&](std::int64_t) { return layer; });
}

}  // namespace flopcast::workload
