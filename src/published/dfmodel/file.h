// Floor 6: a file of expected values, and what has been compared of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "flopcast/published/dfmodel.h"

namespace flopcast::published {

/// Errors (kBadInput): no JSON (says line and column), or no object.
Result<nlohmann::json> parse_expected(std::string_view text, const std::string& where);

/// A value of the file, or the absence of one. Everything can be asked of either.
class Expected {
 public:
  Expected() = default;
  Expected(const nlohmann::json* json, std::string place) : json_(json), place_(std::move(place)) {}

  Expected operator[](std::string_view key) const;
  Expected at(std::size_t index) const;
  /// Elements of an array, members of an object; 0 for all else.
  std::size_t size() const;
  bool exists() const { return json_ != nullptr; }
  std::optional<double> number() const;
  std::string text() const;  ///< empty where there is none
  const nlohmann::json* raw() const { return json_; }
  const std::string& place() const { return place_; }  ///< "/table_VI/rows/0/final_s"
  /// Names of an object's members.
  std::vector<std::string> keys() const;

 private:
  const nlohmann::json* json_ = nullptr;
  std::string place_;
};

/// Half a unit of the last digit of the shortest text that reads back as a number of the file. Of whole
/// numbers every digit is meant; 43.0 was rounded to its decimal.
double half_digit(const nlohmann::json& number);

/// Collects what is compared, section by section, and at last what is not.
class Comparison {
 public:
  explicit Comparison(const nlohmann::json& file) : file_(&file) {}

  /// What follows is about this section. @return the section
  Expected section(std::string_view name);
  /// Compares a number, if it is there.
  void check(std::string name, std::string field, const Expected& expected, double got,
             PublishedKind kind = PublishedKind::kHeld);
  /// As `check`, for numbers written with few significant digits ("11380" may be 11383).
  void check_digits(std::string name, std::string field, const Expected& expected, double got,
                    int digits);
  /// Numbers below a place that nothing is compared with, and why.
  void skip(const Expected& place, std::string name, std::string why);
  /// The result: all numbers that were neither compared nor skipped are among `unchecked`.
  PublishedValidation finish() &&;

 private:
  void add(std::string name, std::string field, const Expected& expected, double got,
           PublishedKind kind, double rounding);
  std::uint64_t take_numbers(const nlohmann::json& json, const std::string& place, int depth = 0);
  void skip_rest(const nlohmann::json& json, const std::string& place, const std::string& section,
                 int depth = 0);

  const nlohmann::json* file_;
  std::string section_;
  std::set<std::string> seen_;  // places
  PublishedValidation validation_;
};

}  // namespace flopcast::published
