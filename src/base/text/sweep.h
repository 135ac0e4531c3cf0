// Sweeps as people write them.
//
//   sweep = name "=" value {"," value}
//   value = text
//         | from ".." to            doubled from one to the next: "64..1024", "1x..8x"
//         | from ".." to ":" step   "150MB..500MB:50MB", "1..8:1"
//         | from ".." to "/" count  so many, evenly spaced, both ends included: "80GB..1TB/32"
//
// Which names there are, and what they take, is for those to say who own them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/base/quantity.h"

namespace flopcast {

/// A sweep, taken apart; without the blanks around its pieces.
struct SweepText {
  std::string_view name;
  std::vector<std::string_view> values;  ///< never empty; those of "n=8," are "8" and ""
};
/// Nothing where there is no '='.
std::optional<SweepText> split_sweep(std::string_view text);

enum class SweepSteps : std::uint8_t { kDoubled, kBy, kCount };
struct SweepRange {
  std::string_view from, to;
  SweepSteps steps = SweepSteps::kDoubled;
  std::string_view by;  ///< the step or the count
};
/// Nothing where there is no "..".
std::optional<SweepRange> split_range(std::string_view value);
/// What the range steps through: at most one more than `most`. Empty: it is no range.
/// @param by the step or the count
std::vector<double> range_numbers(double from, double to, SweepSteps steps, double by,
                                  std::size_t most);

inline constexpr std::size_t kMostSweepValues = 1000;
/// What one name takes.
struct SweepRule {
  std::string_view name;
  bool ranges = true;  ///< else "a..b" is a text as any other
  /// Of the bounds of a range, which may be factors ("1x..8x") as well; a bound without a unit has
  /// that of the other one, and values are written in the unit of the first.
  UnitKind unit = UnitKind::kNone;
  std::function<std::optional<Diagnostic>(std::string_view value)> check;
};
/// Every value in words, ranges gone through, none twice. Errors: the rule's; kUsage: what is no
/// range, more than 1,000 values.
Result<std::vector<std::string>> sweep_values(const SweepText& sweep, const SweepRule& rule);

}  // namespace flopcast
