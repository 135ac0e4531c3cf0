// Any bytes are cases of what-ifs or one error; a case that is no question says why.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/question/whatif.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cases = parse_whatif_cases(text, "input", "folder");
  if (!cases) {
    if (cases.error().what.empty() || cases.error().hint.empty()) __builtin_trap();
    return 0;
  }
  if (cases->empty()) __builtin_trap();
  for (const WhatIfCase& asked : *cases) {
    if (asked.id.empty()) __builtin_trap();
    if (asked.problem && asked.problem->what.empty()) __builtin_trap();
    if (asked.problem) continue;
    if (asked.truth_s && !(*asked.truth_s > 0)) __builtin_trap();
  }
  return 0;
}
