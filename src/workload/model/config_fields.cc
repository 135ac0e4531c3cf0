#include "workload/model/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace flopcast::workload {

namespace {

/// Lists with one entry for each hidden layer, whether a reader asks for them or not.
constexpr std::string_view kLayerLists[] = {
    "layer_types",    "layers_block_type", "mlp_layer_types", "no_rope_layers",
    "attn_type_list", "attention_layers",  "indexer_types"};

/// As it stands in the file, cut where it is long.
std::string quoted(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

}  // namespace

Fields::Found Fields::found(Keys keys) const {
  for (const nlohmann::json* object : {&changed_, &object_, &defaults_}) {
    std::string_view null_key;
    for (const std::string_view key : keys) {
      const auto field = object->find(key);
      if (field == object->end()) continue;
      if (!field->is_null()) return {key, &*field};
      null_key = key;
    }
    if (!null_key.empty()) return {null_key};
  }
  return {*keys.begin()};
}

std::vector<std::string> Fields::of_layers(Keys keys, std::int64_t layers, Keys words) {
  const Found field = found(keys);
  if (field.value == nullptr || !has_entries(field, layers)) return {};
  std::vector<std::string> all;
  for (const nlohmann::json& entry : *field.value) {
    const std::string word = entry.is_string() ? entry.get<std::string>() : std::string();
    if (std::ranges::find(words, word) == words.end()) {
      refuse(keys, fmt::format("expected {} for each layer, found {}", fmt::join(words, " or "),
                               quoted(entry)));
      return {};
    }
    all.push_back(word);
  }
  return all;
}

std::vector<bool> Fields::named_layers(Keys keys, std::int64_t layers, std::int64_t first) {
  const nlohmann::json* list = find(keys);
  if (list == nullptr) return {};
  std::vector<bool> named(static_cast<std::size_t>(layers));
  const auto is_layer = [&](const nlohmann::json& index) {
    return index.is_number_integer() && index.get<std::int64_t>() >= first &&
           index.get<std::int64_t>() < layers + first;
  };
  if (!list->is_array() || !std::ranges::all_of(*list, is_layer)) {
    refuse(keys, fmt::format("expected a list of layers from {} to {} ({})", first,
                             layers + first - 1, spelled(kLayerCount)));
    return named;
  }
  for (const nlohmann::json& index : *list) {
    named[static_cast<std::size_t>(index.get<std::int64_t>() - first)] = true;
  }
  return named;
}

Fields Fields::with(const nlohmann::json& changed) const {
  Fields fields(object_, where_, defaults_);
  fields.changed_ = changed;
  return fields;
}

void Fields::absorb(const Fields& inside) {
  missing_.insert(missing_.end(), inside.missing_.begin(), inside.missing_.end());
  wrong_.insert(wrong_.end(), inside.wrong_.begin(), inside.wrong_.end());
}

void Fields::check_layer_lists(std::int64_t layers) {
  for (const std::string_view key : kLayerLists) {
    if (const Found list = found({key}); list.value != nullptr) has_entries(list, layers);
  }
}

bool Fields::has_entries(const Found& list, std::int64_t layers) {
  if (!list.value->is_array()) {
    refuse({list.key},
           "expected a list with an entry for each layer, found " + quoted(*list.value));
    return false;
  }
  if (static_cast<std::int64_t>(list.value->size()) == layers) return true;
  refuse({list.key}, fmt::format("has {} entries for {} layers ({})", list.value->size(), layers,
                                 spelled(kLayerCount)));
  return false;
}

std::int64_t Fields::times(Keys count_keys, std::int64_t count, std::int64_t width) {
  if (count <= kMostWidth / std::max<std::int64_t>(width, 1)) return count * width;
  refuse(count_keys, fmt::format("{} of {} are wider than {}", count, width, kMostWidth));
  return width;
}

void Fields::open(std::string_view key) {
  if (!key.empty()) opened_.emplace_back(key);
  const nlohmann::json* inner = find({key});
  if (inner != nullptr && inner->is_object()) defaults_.update(nlohmann::json(*inner));
}

void Fields::refuse(Keys keys, const std::string& why) {
  std::string text = fmt::format("{}: {}", spelled(keys), why);
  if (std::ranges::find(wrong_, text) == wrong_.end()) wrong_.push_back(std::move(text));
}

std::int64_t Fields::whole(const Found& field, std::int64_t least, std::int64_t most) {
  const auto bad = [&] {
    refuse({field.key}, fmt::format("expected a whole number from {} to {}, found {}", least, most,
                                    quoted(*field.value)));
    return std::max<std::int64_t>(least, 1);
  };
  if (!field.value->is_number()) return bad();
  const double number = field.value->get<double>();
  if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most))) return bad();
  if (number != std::floor(number)) return bad();
  return static_cast<std::int64_t>(number);
}

std::int64_t Fields::need(Keys keys, std::int64_t most, std::int64_t least) {
  if (const Found field = found(keys); field.value != nullptr) return whole(field, least, most);
  missing_.push_back(keys.size() == 1 ? std::string(*keys.begin())
                                      : fmt::format("{} (or {})", *keys.begin(),
                                                    fmt::join(keys.begin() + 1, keys.end(), ", ")));
  return 1;
}

std::int64_t Fields::at_least(std::int64_t least, Keys keys, std::int64_t otherwise,
                              std::int64_t most) {
  const Found field = found(keys);
  return field.value == nullptr ? otherwise : whole(field, least, most);
}

double Fields::number(Keys keys, double otherwise) {
  const nlohmann::json* value = find(keys);
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->get<double>();
  refuse(keys, "expected a number");
  return otherwise;
}

bool Fields::flag(Keys keys, bool otherwise) {
  const nlohmann::json* value = find(keys);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  refuse(keys, "expected true or false");
  return otherwise;
}

std::string Fields::text(Keys keys, std::string otherwise) {
  const nlohmann::json* value = find(keys);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  refuse(keys, "expected a text");
  return otherwise;
}

std::optional<Diagnostic> Fields::problem(std::string_view architecture) const {
  if (!missing_.empty()) {
    const std::string inside =
        opened_.empty() ? "" : fmt::format(", here or in {}", fmt::join(opened_, " or "));
    return Diagnostic{ErrorCode::kBadInput, where_,
                      fmt::format("a model of type {} needs {}{}", architecture,
                                  fmt::join(missing_, ", "), inside),
                      "add the missing fields"};
  }
  if (!wrong_.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where_, fmt::format("{}", fmt::join(wrong_, "; ")),
                      "correct the fields named"};
  }
  return std::nullopt;
}

void add_layers(Model& model, std::int64_t count, const std::function<Layer(std::int64_t)>& make) {
  model.order.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const Layer layer = make(i);
    const auto known = std::find(model.kinds.begin(), model.kinds.end(), layer);
    model.order.push_back(static_cast<std::uint16_t>(known - model.kinds.begin()));
    if (known == model.kinds.end()) model.kinds.push_back(layer);
  }
}

}  // namespace flopcast::workload
