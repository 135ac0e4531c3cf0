#include "flopcast/base/time_factor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/names.h"
#include "base/text/numbers.h"

namespace flopcast {
namespace {

enum class Sense : std::uint8_t { kOfTime, kFaster, kSlower, kLess, kMore, kUnsaid };

struct SenseWords {
  std::string_view key;  ///< as name_key() has it
  Sense sense;
};
constexpr std::array kSenses = {
    SenseWords{"faster", Sense::kFaster},   SenseWords{"asfast", Sense::kFaster},
    SenseWords{"speedup", Sense::kFaster},  SenseWords{"quicker", Sense::kFaster},
    SenseWords{"slower", Sense::kSlower},   SenseWords{"asslow", Sense::kSlower},
    SenseWords{"slowdown", Sense::kSlower}, SenseWords{"longer", Sense::kMore},
    SenseWords{"aslong", Sense::kOfTime},   SenseWords{"ofthetime", Sense::kOfTime},
    SenseWords{"thetime", Sense::kOfTime},  SenseWords{"less", Sense::kLess},
    SenseWords{"shorter", Sense::kLess},    SenseWords{"lesstime", Sense::kLess},
    SenseWords{"more", Sense::kMore},       SenseWords{"moretime", Sense::kMore},
    SenseWords{"", Sense::kUnsaid}};

/// Of the time, where a rate or a time is changed by the share: "20% faster" is a rate of 1.2.
double of_percent(double share, Sense sense) {
  switch (sense) {
    case Sense::kFaster:
      return 1 / (1 + share);
    case Sense::kSlower:
    case Sense::kMore:
      return 1 + share;
    case Sense::kLess:
      return 1 - share;
    case Sense::kOfTime:
    case Sense::kUnsaid:
      break;
  }
  return share;
}

/// Of the time, where it is so many times as fast or as long.
double of_times(double times, Sense sense) {
  const bool fast = sense == Sense::kFaster || sense == Sense::kLess || sense == Sense::kUnsaid;
  return fast ? 1 / times : times;
}

}  // namespace

Result<TimeFactor> parse_time_factor(std::string_view text, std::string_view where) {
  const auto wrong = [&] {
    return usage_error(where, fmt::format("'{}' is no factor", trim(text)),
                       "write 0.5, half the time, or 2x-faster, 2x-slower, 80%, 20%-less");
  };
  std::string_view rest = trim(text);
  const auto number = take_number(rest);
  if (!number || !std::isfinite(*number)) return wrong();
  const std::string_view unit = trim(rest);
  TimeFactor out{*number, {}};
  if (!unit.empty()) {
    const bool times = unit.front() == 'x' || unit.front() == 'X';
    if (!times && unit.front() != '%') return wrong();
    const std::string key = name_key(unit.substr(1));
    const auto sense = std::ranges::find(kSenses, key, &SenseWords::key);
    if (sense == kSenses.end()) return wrong();
    out.factor = times ? of_times(*number, sense->sense) : of_percent(*number / 100, sense->sense);
    out.words = std::string(trim(text));
    if (times && sense->sense == Sense::kUnsaid)
      out.words += fmt::format(": taken as {:g}x faster", *number);
  }
  if (!(out.factor > 0) || !std::isfinite(out.factor)) {
    return usage_error(where, fmt::format("'{}': a factor of the time is above 0", trim(text)),
                       "0.8 makes it a fifth shorter; remove takes something away");
  }
  return out;
}

}  // namespace flopcast
