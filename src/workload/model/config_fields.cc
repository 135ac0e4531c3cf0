#include "workload/model/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace flopcast::workload {

const nlohmann::json* Fields::find(Keys keys) const {
  for (const nlohmann::json* object : {&object_, &defaults_}) {
    bool named = false;
    for (const std::string_view key : keys) {
      const auto found = object->find(key);
      if (found != object->end() && !found->is_null()) return &*found;
      named = named || found != object->end();
    }
    if (named) return nullptr;
  }
  return nullptr;
}

std::string Fields::text_at(Keys keys, std::int64_t i) const {
  const nlohmann::json* list = find(keys);
  if (list == nullptr || !list->is_array()) return {};
  const auto index = static_cast<std::size_t>(i);
  if (index >= list->size() || !(*list)[index].is_string()) return {};
  return (*list)[index].get<std::string>();
}

void Fields::open(std::string_view key) {
  const nlohmann::json* inner = find({key});
  if (inner != nullptr && inner->is_object()) defaults_.update(nlohmann::json(*inner));
}

void Fields::refuse(std::string_view key, std::string why) {
  wrong_.push_back(fmt::format("{}: {}", key, why));
}

std::int64_t Fields::whole(std::string_view key, const nlohmann::json& value, std::int64_t least,
                           std::int64_t most) {
  const auto bad = [&] {
    std::string found = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (found.size() > 40) found = found.substr(0, 37) + "...";
    refuse(key, fmt::format("expected a whole number from {} to {}, found {}", least, most, found));
    return std::max<std::int64_t>(least, 1);
  };
  if (!value.is_number()) return bad();
  const double number = value.get<double>();
  if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most))) return bad();
  if (number != std::floor(number)) return bad();
  return static_cast<std::int64_t>(number);
}

std::int64_t Fields::need(Keys keys, std::int64_t most, std::int64_t least) {
  if (const nlohmann::json* value = find(keys)) return whole(*keys.begin(), *value, least, most);
  missing_.emplace_back(*keys.begin());
  return 1;
}

std::int64_t Fields::get(Keys keys, std::int64_t otherwise, std::int64_t most) {
  const nlohmann::json* value = find(keys);
  return value == nullptr ? otherwise : whole(*keys.begin(), *value, 0, most);
}

double Fields::number(Keys keys, double otherwise) {
  const nlohmann::json* value = find(keys);
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->get<double>();
  refuse(*keys.begin(), "expected a number");
  return otherwise;
}

bool Fields::flag(Keys keys, bool otherwise) {
  const nlohmann::json* value = find(keys);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  refuse(*keys.begin(), "expected true or false");
  return otherwise;
}

std::string Fields::text(Keys keys, std::string otherwise) {
  const nlohmann::json* value = find(keys);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  refuse(*keys.begin(), "expected a text");
  return otherwise;
}

std::optional<Diagnostic> Fields::problem(std::string_view architecture) const {
  if (!missing_.empty()) {
    return Diagnostic{
        ErrorCode::kBadInput, where_,
        fmt::format("a model of type {} needs {}", architecture, fmt::join(missing_, ", ")),
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
