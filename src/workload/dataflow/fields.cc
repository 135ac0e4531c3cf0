#include "workload/dataflow/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"

namespace flopcast::workload::dataflow {

void Fields::about(std::string_view what, std::string_view name) {
  subject_ = name.empty() ? std::string(what) : fmt::format("{} '{}'", what, name);
}

void Fields::wrong(const toml::node& node, std::string what, std::string hint) {
  errors_.push_back({ErrorCode::kBadInput, place(file_, node),
                     subject_.empty() ? std::move(what) : subject_ + ": " + what, std::move(hint)});
}

void Fields::expected(std::string_view key, const toml::node& node, std::string_view what) {
  wrong(node, fmt::format("'{}' must be {}", key, what), "see docs/reference/dataflow.md");
}

const toml::node* Fields::find(std::string_view key) {
  asked_.emplace_back(key);
  return table_.get(key);
}

bool Fields::given_text(std::string_view key, std::string& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return false;
  const auto* given = node->as_string();
  if (given == nullptr) {
    expected(key, *node, "a text");
    return false;
  }
  value = given->get();
  return true;
}

void Fields::text(std::string_view key, std::string& value) { given_text(key, value); }

void Fields::flag(std::string_view key, bool& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* given = node->as_boolean()) {
    value = given->get();
  } else {
    expected(key, *node, "true or false");
  }
}

void Fields::integer(std::string_view key, std::int64_t& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* given = node->as_integer()) {
    value = given->get();
  } else {
    expected(key, *node, "a whole number");
  }
}

void Fields::count(std::string_view key, std::int64_t& value) {
  integer(key, value);
  if (value < 1) expected(key, *table_.get(key), "1 or more");
}

void Fields::number(std::string_view key, double& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const std::optional<double> given = node->is_number() ? node->value<double>() : std::nullopt;
  if (given && std::isfinite(*given) && *given >= 0) {
    value = *given;
  } else {
    expected(key, *node, "a number of 0 or more");
  }
}

void Fields::positive(std::string_view key, double& value) {
  number(key, value);
  if (value <= 0) expected(key, *table_.get(key), "a number above 0");
}

void Fields::unknown_word(std::string_view key, std::string_view given,
                          const std::vector<std::string>& words) {
  wrong(*table_.get(key), fmt::format("'{}' is no {}", given, key),
        fmt::format("one of {}", fmt::join(words, ", ")));
}

void Fields::kernel(std::string_view key,
                    const std::map<std::string, std::uint32_t, std::less<>>& ids,
                    std::uint32_t& value) {
  std::string given;
  if (given_text(key, given)) {
    find_kernel(*table_.get(key), given, ids, value);
  } else if (!table_.contains(key)) {
    wrong(table_, fmt::format("'{}' is missing", key), "name a kernel");
  }
}

void Fields::find_kernel(const toml::node& node, std::string_view name,
                         const std::map<std::string, std::uint32_t, std::less<>>& ids,
                         std::uint32_t& value) {
  const auto at = ids.find(name);
  if (at != ids.end()) {
    value = at->second;
    return;
  }
  std::vector<std::string> names;
  for (const auto& [known, id] : ids) names.push_back(known);
  wrong(node, fmt::format("there is no kernel '{}'", name),
        did_you_mean(name, names, "name a [[kernel]] of this file"));
}

void Fields::tables(std::string_view key, const ReadTable& read, const ReadText& read_text) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return expected(key, *node, "an array");
  for (const toml::node& element : *array) {
    if (const toml::table* table = element.as_table()) {
      Fields fields(file_, *table, errors_);
      fields.about(subject_, "");
      read(fields);
      fields.finish();
    } else if (const auto* given = element.as_string(); given != nullptr && read_text) {
      read_text(element, given->get());
    } else {
      return expected(key, element, read_text ? "texts or tables" : "tables");
    }
  }
}

void Fields::missing(std::string_view key, std::string hint) {
  if (!has(key)) wrong(table_, fmt::format("'{}' is missing", key), std::move(hint));
}

std::string Fields::place_of() const { return place(file_, table_); }

void Fields::finish() {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    wrong(node, fmt::format("'{}' is unknown", name),
          did_you_mean(name, asked_, fmt::format("keys are {}", fmt::join(asked_, ", "))));
  }
}

}  // namespace flopcast::workload::dataflow
