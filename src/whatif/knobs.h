// Every knob there is, in one table: what it is called, what it takes, and how that is read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "whatif/change/change.h"

namespace flopcast::whatif {

enum class Verb : std::uint8_t { kSet, kScale, kRemove, kAdd, kKernelsFrom, kChip, kOn };
const char* verb_name(Verb verb);  ///< "set", "scale", ..., "kernels-from": the command's options

/// What stands behind the knob's colon.
enum class Argument : std::uint8_t { kNone, kOptional, kRequired };

/// A change in words, taken apart.
struct Said {
  std::string argument;  ///< "gemm" of kernel:gemm, "2" of straggler:2; empty where none is given
  std::string value;     ///< of set; the path, chip or cluster of the last three verbs
  double factor = 1;     ///< of scale
  bool scale_only = false;  ///< collectives are replaced alone
};

struct Knob {
  /// What a change in words is. kUsage where it is none.
  using Read = Result<Action> (*)(const Knob& knob, const Said& said);

  Verb verb;
  std::string_view name;  ///< empty: the verb has one meaning, and the rest is its value
  Argument argument;
  std::string_view argument_shown;  ///< "CLASS|NAME|/REGEX/"
  std::string_view help;
  Read read;
  SizeField size = nullptr;  ///< that `set` sets
};

std::span<const Knob> knobs();

/// The knob of a change's verb and name.
const Knob* find_knob(Verb verb, std::string_view name);

}  // namespace flopcast::whatif
