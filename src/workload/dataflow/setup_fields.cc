#include "workload/dataflow/setup_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text/numbers.h"

namespace flopcast::workload::dataflow {

void SetupFields::wrong(std::size_t line, std::string what, std::string hint) {
  if (state_.error) return;
  state_.error = Diagnostic{ErrorCode::kBadInput, fmt::format("{}:{}", state_.where, line),
                            std::move(what), std::move(hint)};
}

const SetupField* SetupFields::last(std::string_view name, bool message) {
  asked_.emplace(name);
  const SetupField* found = nullptr;
  for (const SetupField& field : message_.fields) {
    if (field.name != name) continue;
    if (field.messages.empty() == message) {
      wrong(field.line, fmt::format("'{}' must be {}", name, message ? "a message" : "a value"),
            message ? "write name { ... }" : "write name: value");
      return nullptr;
    }
    found = &field;
  }
  return found;
}

std::int64_t SetupFields::whole(std::string_view name, std::int64_t otherwise) {
  const SetupField* field = last(name, false);
  if (field == nullptr) return otherwise;
  if (const auto value = parse_whole(field->value)) return *value;
  wrong(field->line, fmt::format("'{}: {}' is no whole number", name, field->value),
        "write digits alone");
  return otherwise;
}

std::int64_t SetupFields::natural(std::string_view name, std::int64_t otherwise) {
  const std::int64_t value = whole(name, otherwise);
  if (value >= 0 && value <= std::int64_t{1} << 42) return value;
  wrong(last(name, false)->line, fmt::format("'{}: {}' is no count", name, value),
        "give 0 or more, at most 2^42");
  return otherwise;
}

double SetupFields::real(std::string_view name, double otherwise) {
  const SetupField* field = last(name, false);
  if (field == nullptr) return otherwise;
  const auto value = parse_number<float>(field->value);
  if (value && *value >= 0) return static_cast<double>(*value);
  wrong(field->line, fmt::format("'{}: {}' is no number of 0 or more", name, field->value),
        "write it in decimals");
  return otherwise;
}

std::string SetupFields::text(std::string_view name) {
  const SetupField* field = last(name, false);
  return field == nullptr ? std::string() : field->value;
}

bool SetupFields::flag(std::string_view name) {
  const SetupField* field = last(name, false);
  if (field == nullptr || field->value == "false" || field->value == "0") return false;
  if (field->value == "true" || field->value == "1") return true;
  wrong(field->line, fmt::format("'{}: {}' is neither true nor false", name, field->value),
        "write true or false");
  return false;
}

bool SetupFields::has(std::string_view name) {
  for (const SetupField& field : message_.fields) {
    if (field.name == name) return true;
  }
  return false;
}

std::vector<SetupFields> SetupFields::messages(std::string_view name) {
  std::vector<SetupFields> found;
  if (last(name, true) == nullptr) return found;
  for (const SetupField& field : message_.fields) {
    if (field.name != name) continue;
    found.emplace_back(field.messages.front(),
                       path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name),
                       state_);
  }
  return found;
}

std::optional<SetupFields> SetupFields::message(std::string_view name) {
  std::vector<SetupFields> all = messages(name);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

void SetupFields::finish() {
  for (const SetupField& field : message_.fields) {
    if (asked_.contains(field.name)) continue;
    state_.unknown->add(path_.empty() ? field.name : fmt::format("{}.{}", path_, field.name),
                        [&] { return fmt::format("{}:{}", state_.where, field.line); });
  }
}

}  // namespace flopcast::workload::dataflow
