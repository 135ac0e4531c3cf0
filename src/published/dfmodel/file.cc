#include "published/dfmodel/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_error.h"

namespace flopcast::published {
namespace {

using Json = nlohmann::json;

/// Why nothing is compared with the numbers of a section, where all of them have one reason.
struct Reason {
  std::string_view place, why;
};
constexpr Reason kReasons[] = {
    {"/solver_stats_read", "sizes and run times of the published solver"},
    {"/topologies_1024", "shapes and formulas in words; the totals are checked"},
    {"/fig21_spec", "a formula in words"},
    {"/dp_stats", "counts and times of another implementation"},
    {"/milp_stats", "sizes and times of another solver"},
    {"/accelerators", "as the paper prints it, or of the links"},
    {"/workloads", "sizes that the graph is made from"},
    {"/table_VI/rows", "run time of the published solver"},
    {"/llm_dse_read", "run time of a solver"},
    {"/fig7_rail_only", "a setting of the run"},
    {"/fig8_calculon", "a setting of the run"},
    {"/fig22_3d", "a setting of the run, or the run time of the published solver"},
};

constexpr int kDeepest = 32;  // levels of a file that are looked at

/// A JSON pointer to a member.
std::string place_of(const std::string& object, std::string_view key) {
  std::string place = object + '/';
  for (const char c : key) {
    if (c == '~')
      place += "~0";
    else if (c == '/')
      place += "~1";
    else
      place += c;
  }
  return place;
}

/// visit(value, its place) for elements and members.
template <typename Visit>
void each_child(const Json& json, const std::string& place, Visit&& visit) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) visit(value, place_of(place, key));
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) visit(json[i], fmt::format("{}/{}", place, i));
  }
}

std::string line_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

Diagnostic bad(std::string where, std::string what) {
  return {ErrorCode::kBadInput, std::move(where), std::move(what),
          "see include/flopcast/published/dfmodel.h for the sections of a file"};
}

}  // namespace

Result<Json> parse_expected(std::string_view text, const std::string& where) {
  Json file = Json::parse(text, nullptr, false);
  if (file.is_discarded()) {
    const std::size_t byte = json_error_byte(text).value_or(text.size());
    return bad(fmt::format("{}, {}", where, line_of(text, byte)), "is not JSON from here on");
  }
  if (!file.is_object()) return bad(where, "is no JSON object of sections");
  return file;
}

Expected Expected::operator[](std::string_view key) const {
  std::string place = place_of(place_, key);
  if (json_ == nullptr || !json_->is_object()) return {nullptr, std::move(place)};
  const auto found = json_->find(std::string(key));
  return {found == json_->end() ? nullptr : &*found, std::move(place)};
}

Expected Expected::at(std::size_t index) const {
  std::string place = fmt::format("{}/{}", place_, index);
  const bool there = json_ != nullptr && json_->is_array() && index < json_->size();
  return {there ? &(*json_)[index] : nullptr, std::move(place)};
}

std::size_t Expected::size() const {
  return json_ != nullptr && json_->is_structured() ? json_->size() : 0;
}

std::optional<double> Expected::number() const {
  if (json_ == nullptr || !json_->is_number()) return std::nullopt;
  return json_->get<double>();
}

std::string Expected::text() const {
  return json_ != nullptr && json_->is_string() ? json_->get<std::string>() : std::string();
}

std::vector<std::string> Expected::keys() const {
  std::vector<std::string> keys;
  if (json_ == nullptr || !json_->is_object()) return keys;
  for (const auto& [key, value] : json_->items()) keys.push_back(key);
  return keys;
}

double half_digit(const Json& number) {
  if (!number.is_number_float()) return 0;
  const std::string text = fmt::format("{}", number.get<double>());
  const std::size_t exponent_at = text.find('e');
  const int exponent =
      exponent_at == std::string::npos ? 0 : std::stoi(text.substr(exponent_at + 1));
  const std::string digits = text.substr(0, exponent_at);
  const std::size_t point = digits.find('.');
  int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  if (exponent_at == std::string::npos) decimals = std::max(decimals, 1);
  return 0.5 * std::pow(10, exponent - decimals);
}

Expected Comparison::section(std::string_view name) {
  section_ = name;
  return Expected(file_, "")[name];
}

void Comparison::check(std::string name, std::string field, const Expected& expected, double got,
                       PublishedKind kind) {
  if (!expected.number()) return;
  add(std::move(name), std::move(field), expected, got, kind, half_digit(*expected.raw()));
}

void Comparison::check_digits(std::string name, std::string field, const Expected& expected,
                              double got, int digits) {
  const std::optional<double> value = expected.number();
  if (!value) return;
  const double unit =
      *value == 0 ? 0 : std::pow(10, std::floor(std::log10(std::abs(*value))) - digits + 1);
  add(std::move(name), std::move(field), expected, got, PublishedKind::kHeld, unit / 2);
}

void Comparison::add(std::string name, std::string field, const Expected& expected, double got,
                     PublishedKind kind, double rounding) {
  seen_.insert(expected.place());
  validation_.checks.push_back(
      {section_, std::move(name), std::move(field), *expected.number(), got, rounding, kind});
}

std::uint64_t Comparison::take_numbers(const Json& json, const std::string& place, int depth) {
  if (json.is_number()) return seen_.insert(place).second ? 1 : 0;
  if (depth > kDeepest) return 0;
  std::uint64_t count = 0;
  each_child(json, place, [&](const Json& child, const std::string& own) {
    count += take_numbers(child, own, depth + 1);
  });
  return count;
}

void Comparison::skip(const Expected& place, std::string name, std::string why) {
  if (!place.exists()) return;
  const std::uint64_t count = take_numbers(*place.raw(), place.place());
  if (count == 0) return;
  validation_.unchecked.push_back({section_, std::move(name), std::move(why), count});
}

void Comparison::skip_rest(const Json& json, const std::string& place, const std::string& section,
                           int depth) {
  if (depth > kDeepest) return;
  std::uint64_t count = 0;
  each_child(json, place, [&](const Json& child, const std::string& own) {
    if (child.is_structured()) {
      skip_rest(child, own, section, depth + 1);
    } else {
      count += take_numbers(child, own);
    }
  });
  if (count == 0) return;
  std::string why = "nothing here computes it";
  for (const Reason& reason : kReasons) {
    if (place.starts_with(reason.place)) why = reason.why;
  }
  validation_.unchecked.push_back({section, place, std::move(why), count});
}

PublishedValidation Comparison::finish() && {
  each_child(*file_, "", [&](const Json& section, const std::string& place) {
    const std::string name = place.substr(1);
    if (section.is_structured()) {
      skip_rest(section, place, name);
    } else if (take_numbers(section, place) > 0) {
      validation_.unchecked.push_back({name, place, "no section is called so", 1});
    }
  });
  return std::move(validation_);
}

}  // namespace flopcast::published
