#include "base/numeric/answer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace flopcast {
namespace {

/// Sums of rounded numbers, and numbers that differ in how they were summed.
constexpr double kRounding = 1e-6;
/// What is left of a difference that is nothing: seconds, bytes or shares.
constexpr double kNothing = 1e-9;

}  // namespace

void AnswerCheck::fail(std::string_view name, double value, std::string_view why) {
  if (problem_.empty()) problem_ = fmt::format("{} of {} is {:.6g}, {}", name, answer_, value, why);
}

void AnswerCheck::amount(std::string_view name, double value) {
  if (!std::isfinite(value)) return fail(name, value, "which is no number");
  if (value < -kNothing) fail(name, value, "below 0");
}

void AnswerCheck::time(std::string_view name, Seconds value) {
  amount(name, value.value);
  if (value.value > kLongestSeconds) fail(name, value.value, "more seconds than the clock holds");
}

void AnswerCheck::time(std::string_view name, Time value) { time(name, Seconds{value.seconds()}); }

void AnswerCheck::share(std::string_view name, double value) {
  amount(name, value);
  if (value > 1 + kRounding) fail(name, value, "more than all there is");
}

void AnswerCheck::band(std::string_view name, Seconds low, Seconds value, Seconds high) {
  time(name, value);
  amount(name, low.value);
  if (!(low.value <= value.value)) fail(name, value.value, "below its own band");
  // A wide band may end beyond the clock, but not before its middle.
  if (!(value.value <= high.value) || !std::isfinite(high.value)) {
    fail(name, value.value, "above its own band");
  }
}

void AnswerCheck::band(std::string_view name, Time low, Time value, Time high) {
  band(name, Seconds{low.seconds()}, Seconds{value.seconds()}, Seconds{high.seconds()});
}

void AnswerCheck::at_least(std::string_view name, double value, std::string_view limit_name,
                           double limit) {
  amount(name, value);
  if (value < limit * (1 - kRounding)) {
    fail(name, value, fmt::format("below {}, {:.6g}", limit_name, limit));
  }
}

void AnswerCheck::sum(std::string_view name, std::span<const double> parts, double whole) {
  double all = 0, most = std::abs(whole);
  for (const double part : parts) all += part, most = std::max(most, std::abs(part));
  if (!(std::abs(all - whole) <= kRounding * most)) {
    fail(name, whole, fmt::format("but its parts sum to {:.6g}", all));
  }
}

std::optional<Diagnostic> AnswerCheck::problem() const {
  if (holds()) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, "the answer", "does not hold: " + problem_,
                    "a number of the machine or of the question is far out of its range; if all of "
                    "them are right, this is a fault to report"};
}

}  // namespace flopcast
