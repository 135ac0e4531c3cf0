// One change as a user asked for it, taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flopcast/whatif.h"

namespace flopcast::whatif {

enum class Verb : std::uint8_t { kSet, kScale, kRemove, kAdd, kKernelsFrom, kChip, kOn };
const char* verb_name(Verb verb);  ///< "set", "scale", ..., "kernels-from": the command's options

struct Change {
  Verb verb = Verb::kSet;
  std::string name;      ///< of the knob: "dp", "kernel", "straggler"; empty with --chip and such
  std::string argument;  ///< "gemm" of kernel:gemm, "2" of straggler:2; empty where none is given
  std::string value;     ///< of set, as written; the path, chip or cluster of the last three verbs
  double number = 1;     ///< factor of scale; value of set where that is a number
  bool scale_only = false;  ///< of dp: collectives are replaced alone
  std::string text;         ///< "set dp=64": how answers name it
};

/// The change refused, for lack of evidence.
inline WhatIfRefusal refusal(const Change& change, std::string missing) {
  return {change.text, std::move(missing)};
}

}  // namespace flopcast::whatif
