#include "base/text/setting.h"

#include <fmt/format.h>

#include "base/text/names.h"
#include "base/text/numbers.h"

namespace flopcast {

Diagnostic setting_error(const Setting& setting, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, setting.where, fmt::format("{}: {}", setting.key, what),
          std::move(hint)};
}

Diagnostic unknown_key(const Setting& setting, std::string_view subject,
                       const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& key : known) all += (all.empty() ? "" : ", ") + key;
  return {ErrorCode::kBadInput, setting.where, fmt::format("{} has no '{}'", subject, setting.key),
          did_you_mean(setting.key, known, "known are " + all)};
}

namespace {

std::optional<Diagnostic> not_one_value(const Setting& setting) {
  if (!setting.list) return std::nullopt;
  return setting_error(setting, "expected one value, found a list", "write it without brackets");
}

}  // namespace

Result<double> setting_number(const Setting& setting, UnitKind kind, const Limits& limits) {
  if (auto wrong = not_one_value(setting)) return *wrong;
  Result<double> value = parse_quantity(setting.value, kind);
  if (!value) return setting_error(setting, value.error().what, value.error().hint);
  if (auto wrong = outside(limits, *value, kind, setting.value)) {
    return setting_error(setting, wrong->what, wrong->hint);
  }
  return value;
}

Result<unsigned> setting_count(const Setting& setting) {
  if (auto wrong = not_one_value(setting)) return *wrong;
  const unsigned count = parse_whole<unsigned>(trim(setting.value)).value_or(0);
  constexpr unsigned kMost = 1U << 24;
  if (count == 0 || count > kMost) {
    return setting_error(setting, fmt::format("expected a whole number, found '{}'", setting.value),
                         fmt::format("give a number from 1 to {}", kMost));
  }
  return count;
}

Result<std::vector<unsigned>> setting_counts(const Setting& setting) {
  std::vector<unsigned> counts;
  for (std::string_view rest = setting.value;;) {
    const std::size_t cut = rest.find_first_of("xX*");
    Setting one = setting;
    one.list = false;
    one.value = std::string(rest.substr(0, cut));
    const Result<unsigned> count = setting_count(one);
    if (!count || counts.size() == 8) {
      return setting_error(setting, fmt::format("expected sizes, found '{}'", setting.value),
                           "write them like 4x4x4");
    }
    counts.push_back(*count);
    if (cut == std::string_view::npos) return counts;
    rest.remove_prefix(cut + 1);
  }
}

Result<bool> setting_flag(const Setting& setting) {
  if (auto wrong = not_one_value(setting)) return *wrong;
  const std::string key = name_key(setting.value);
  if (key == "true" || key == "yes" || key == "on") return true;
  if (key == "false" || key == "no" || key == "off") return false;
  return setting_error(setting, fmt::format("expected true or false, found '{}'", setting.value),
                       "write true or false");
}

}  // namespace flopcast
