#include "whatif/caution.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text/format.h"

namespace flopcast::whatif {
namespace {

/// A change below this part of all steps needs no word.
constexpr double kTold = 1e-3;
/// ... nor does what the step that is left out takes of it, below this part.
constexpr double kMoved = 0.25;

Time steps_of(const Judged& judged, bool counted) {
  Time sum;
  for (const JudgedStep& step : judged.steps) {
    if (step.counts == counted) sum += step.gpu.value_or(Time{});
  }
  return sum;
}

std::string name_of_left_out(const Judged& judged) {
  for (const JudgedStep& step : judged.steps) {
    if (!step.counts) return step.name;
  }
  return {};
}

Time length(Time change) { return change < Time{} ? Time{} - change : change; }
const char* word(Time change) { return change < Time{} ? "shorter" : "longer"; }

}  // namespace

Time whole_run(const Judged& judged) { return steps_of(judged, true) + steps_of(judged, false); }

std::string caution_of(const Judged& before, const Judged& after, bool less) {
  const Time judged = steps_of(after, true) - steps_of(before, true);
  const Time left_out = steps_of(after, false) - steps_of(before, false);
  const Time whole = whole_run(before);
  if (std::abs(share(judged, whole)) < kTold) return {};
  const bool moved = (judged > Time{}) != (left_out > Time{}) &&
                     length(left_out).seconds() >= kMoved * length(judged).seconds();
  if (moved) {
    return fmt::format(
        "the steps that are judged are {} {} together, but {}, which is not judged, is {} {}: all "
        "steps together "
        "change by {}",
        short_time(length(judged)), word(judged), name_of_left_out(before),
        short_time(length(left_out)), word(left_out),
        signed_percent(relative_error(whole, whole_run(after))));
  }
  if (!less || judged < Time{}) return {};
  return "nothing was added: work that is done sooner changes the order in which ranks and streams "
         "get their turn, and "
         "what waits for it longer";
}

}  // namespace flopcast::whatif
