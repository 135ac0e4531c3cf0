// Answers are looked at once more when they are made, by their numbers alone: what no computation may give is an error
// that names the number, never something to print. Each room says in its own `check_answer` what must hold of its answers.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// Seconds that the clock holds: 106 days. What is computed as longer has no answer.
inline constexpr double kLongestSeconds = 9.2e6;

/// Remembers the first thing that does not hold. Names must outlive it.
class AnswerCheck {
 public:
  /// @param answer what is checked, in words: "the step"
  explicit AnswerCheck(std::string_view answer) : answer_(answer) {}

  /// Finite and not below 0, but for rounding.
  void amount(std::string_view name, double value);
  void amount(std::string_view name, Bytes value) { amount(name, value.value); }
  /// Finite, not below 0, and within the clock.
  void time(std::string_view name, Seconds value);
  void time(std::string_view name, Time value);
  /// From 0 to 1.
  void share(std::string_view name, double value);
  /// The value lies in its band, whose ends are times.
  void band(std::string_view name, Seconds low, Seconds value, Seconds high);
  void band(std::string_view name, Time low, Time value, Time high);
  /// A number is not below a limit of physics: a time and the roofline of the work, one and the same but for rounding.
  void at_least(std::string_view name, double value, std::string_view limit_name, double limit);
  /// Parts sum to the whole, but for rounding.
  void sum(std::string_view name, std::span<const double> parts, double whole);

  bool holds() const { return problem_.empty(); }
  /// kNoAnswer: which number is out of what.
  std::optional<Diagnostic> problem() const;

 private:
  void fail(std::string_view name, double value, std::string_view why);
  std::string_view answer_;
  std::string problem_;
};

}  // namespace flopcast
