// Fields of a measured run, read by those who need them: what nobody asks for is told.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/measured/training.h"

namespace flopcast::measured {

/// Every reader marks what it asks for. Parts are "system", "parallel", ...; "" is the run itself. A field that is null is
/// missing.
class RunFields {
 public:
  explicit RunFields(const nlohmann::json& run);

  /// The part as an object; an empty one where there is none.
  const nlohmann::json& part(std::string_view name) const;
  bool has(std::string_view part, std::string_view key) const;  ///< null or not
  std::string text(std::string_view part, std::string_view key);
  double number(std::string_view part, std::string_view key);
  /// A whole number; `otherwise` where it is missing.
  std::int64_t count(std::string_view part, std::string_view key, std::int64_t otherwise);
  std::optional<bool> flag(std::string_view part, std::string_view key);
  /// Texts of a list.
  std::vector<std::string> texts(std::string_view part, std::string_view key);
  /// Text, number or flag in words, under the first of these names that is there; nothing: under none.
  std::optional<std::string> word(std::string_view part,
                                  const std::vector<std::string_view>& names);

  /// Takes note of a value that nothing prices: "parallel.dispatcher 'x': the software's is taken".
  void unmodelled(std::string_view part, std::string_view key, std::string_view value,
                  std::string_view taken);
  /// The first field that is there and not of its kind; empty: there is none.
  const std::string& problem() const { return problem_; }
  /// Sorts what nobody asked for by what is known of it. @pre everything was asked for
  void tell(TrainingRun& run) const;

 private:
  const nlohmann::json* find(std::string_view part, std::string_view key);
  void wrong(std::string_view part, std::string_view key, std::string_view expected,
             const nlohmann::json& found);
  void tell_part(std::string_view part, const nlohmann::json& object, TrainingRun& run) const;
  void tell_field(const std::string& path, const nlohmann::json& value, TrainingRun& run) const;
  void tell_model(TrainingRun& run) const;

  const nlohmann::json& run_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> unmodelled_;
  std::string problem_;
};

}  // namespace flopcast::measured
