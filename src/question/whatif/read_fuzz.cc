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
    test::check(!cases.error().what.empty() && !cases.error().hint.empty());
    return 0;
  }
  test::check(!cases->empty());
  for (const WhatIfCase& asked : *cases) {
    test::check(!asked.id.empty());
    test::check(!asked.problem || !asked.problem->what.empty());
    if (asked.problem) continue;
    test::check(!asked.truth_s || *asked.truth_s > 0);
  }
  return 0;
}
