// Fields of a config.json: found under any of their names, checked, and all that is missing told at
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/workload.h"

namespace flopcast::workload {

/// The spellings of one field: {"num_hidden_layers", "n_layer"}; errors name the first.
using Keys = std::initializer_list<std::string_view>;

inline const Keys kHidden = {"hidden_size", "n_embd", "n_embed", "d_model", "hidden"};
inline const Keys kLayerCount = {"num_hidden_layers", "n_layer", "n_layers", "layers",
                                 "num_layers"};
inline const Keys kHeads = {"num_attention_heads", "n_head",         "n_heads", "heads",
                            "num_heads",           "attention_heads"};
inline const Keys kIntermediate = {"intermediate_size", "ffn",      "ffn_dim", "dff",
                                   "n_inner",           "inner_dim"};

class Fields {
 public:
  /// @param defaults what a field has that `object` does not name; null there means null.
  Fields(const nlohmann::json& object, std::string where,
         nlohmann::json defaults = nlohmann::json::object())
      : object_(object), defaults_(std::move(defaults)), where_(std::move(where)) {}

  /// A whole number from `least` to `most`. Missing or null: noted, and 1.
  std::int64_t need(Keys keys, std::int64_t most = kMostWidth, std::int64_t least = 1);
  /// The same where present; `otherwise` where missing or null. 0 is allowed: for what may not be there.
  std::int64_t get(Keys keys, std::int64_t otherwise, std::int64_t most = kMostWidth) {
    return at_least(0, keys, otherwise, most);
  }
  /// The same without 0: for what others are counted in or divided by.
  std::int64_t positive(Keys keys, std::int64_t otherwise, std::int64_t most = kMostWidth) {
    return at_least(1, keys, otherwise, most);
  }
  /// `count` times `width` where that is a width; else noted under the name of the count.
  std::int64_t times(Keys count_keys, std::int64_t count, std::int64_t width);
  double number(Keys keys, double otherwise);
  bool flag(Keys keys, bool otherwise);
  std::string text(Keys keys, std::string otherwise);
  const nlohmann::json* find(Keys keys) const { return found(keys).value; }
  /// What a list says of each of `layers` layers, each one of `words`: {"layer_types":
  /// ["full_attention", ...]}. Empty where there is no list, or it is refused.
  std::vector<std::string> of_layers(Keys keys, std::int64_t layers, Keys words);
  /// The layers that a list names by their number, counted from `first`. Empty where there is no list.
  std::vector<bool> named_layers(Keys keys, std::int64_t layers, std::int64_t first = 0);
  /// These fields, but for those that `changed` has.
  Fields with(const nlohmann::json& changed) const;
  /// What `inside` misses and refuses is missed and refused here: fields of an object inside this one.
  void absorb(const Fields& inside);
  /// Refuses lists with an entry for each layer that have fewer or more.
  void check_layer_lists(std::int64_t layers);

  /// Fields of the object `key` are found as if they stood beside it: {"ffn_config": {...}}.
  void open(std::string_view key);

  /// Notes a field whose value makes no sense together with others, by the name that it has here.
  void refuse(Keys keys, const std::string& why);
  /// The name that a field has here; its first where it is missing.
  std::string_view spelled(Keys keys) const { return found(keys).key; }

  const std::vector<std::string>& missing() const { return missing_; }
  /// The error, if anything was missing or wrong.
  std::optional<Diagnostic> problem(std::string_view architecture) const;

  // Limits keep every count of parameters inside 63 bits.
  static constexpr std::int64_t kMostWidth = std::int64_t{1} << 22;
  static constexpr std::int64_t kMostLayers = std::int64_t{1} << 14;
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 26;  ///< vocabulary, positions

 private:
  struct Found {
    std::string_view key;
    const nlohmann::json* value = nullptr;
  };
  Found found(Keys keys) const;
  std::int64_t at_least(std::int64_t least, Keys keys, std::int64_t otherwise, std::int64_t most);
  bool has_entries(const Found& list, std::int64_t layers);
  std::int64_t whole(const Found& field, std::int64_t least, std::int64_t most);

  const nlohmann::json& object_;
  nlohmann::json changed_ = nlohmann::json::object();  ///< comes before the object's
  nlohmann::json defaults_;
  std::string where_;
  std::vector<std::string> missing_, wrong_, opened_;
};

/// Appends `count` layers to the model; equal ones become one kind.
void add_layers(Model& model, std::int64_t count, const std::function<Layer(std::int64_t)>& make);

}  // namespace flopcast::workload
