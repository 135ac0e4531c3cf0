// Every knob there is, in one table: what it is called, what it takes, and what makes the change.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Changes are applied by tier, in this order.
enum class Tier : std::uint8_t { kStructure, kOrder, kDurations };

/// What stands behind the knob's colon.
enum class Argument : std::uint8_t { kNone, kOptional, kRequired };

/// What a value of `set` may be.
enum class Value : std::uint8_t {
  kNone,
  kCount,   ///< a whole number, at least 1
  kFactor,  ///< a number above 0
  kWord,    ///< any text
};

struct Knob {
  Verb verb;
  std::string_view name;  ///< empty: the verb has one meaning, and the rest is its value
  Tier tier;
  Argument argument;
  Value value;                      ///< of set; scale has factors, the others none
  std::string_view argument_shown;  ///< "CLASS|NAME|/REGEX/"
  std::string_view help;
  /// Nothing with structure: those changes are made together, by kEmit.
  Apply apply;
};

std::span<const Knob> knobs();
/// Makes all changes of structure.
extern const Emit kEmit;

/// The knob of a change's verb and name.
const Knob* find_knob(Verb verb, std::string_view name);

}  // namespace flopcast::whatif
