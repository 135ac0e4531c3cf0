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

class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  /// A whole number from 1 to `most`. Missing or null: noted, and 1.
  std::int64_t need(Keys keys, std::int64_t most = kMostWidth);
  /// The same where present; `otherwise` where missing or null. 0 is allowed.
  std::int64_t get(Keys keys, std::int64_t otherwise, std::int64_t most = kMostWidth);
  double number(Keys keys, double otherwise);
  bool flag(Keys keys, bool otherwise);
  std::string text(Keys keys, std::string otherwise);
  const nlohmann::json* find(Keys keys) const;

  /// Notes a field whose value makes no sense together with others.
  void refuse(std::string_view key, std::string why);

  const std::vector<std::string>& missing() const { return missing_; }
  /// The error, if anything was missing or wrong.
  std::optional<Diagnostic> problem(std::string_view architecture) const;

  // Limits keep every count of parameters inside 63 bits.
  static constexpr std::int64_t kMostWidth = std::int64_t{1} << 22;
  static constexpr std::int64_t kMostLayers = std::int64_t{1} << 14;
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 26;  ///< vocabulary, positions

 private:
  std::int64_t whole(std::string_view key, const nlohmann::json& value, std::int64_t least,
                     std::int64_t most);

  const nlohmann::json& object_;
  std::string where_;
  std::vector<std::string> missing_, wrong_;
};

/// Appends `count` layers to the model; equal ones become one kind.
void add_layers(Model& model, std::int64_t count, const std::function<Layer(std::int64_t)>& make);

}  // namespace flopcast::workload
