// Any bytes as rows, read by shapes and token by token: the same outcome. Read twice, so that the
// second time shapes are known.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "support/fuzz_target.h"
#include "trace/kineto/testing.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast::trace;
  if (size == 0) return 0;
  const PassOver pass_over = data[0] % 2 == 0 ? PassOver::kUnusedAndPython : PassOver::kNothing;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  RowShapes shapes(pass_over);
  for (int pass = 0; pass < 2; ++pass) {
    const std::string difference = reading_difference(shapes, pass_over, text);
    if (!difference.empty()) {
      std::fprintf(stderr, "pass %d: %s\n", pass, difference.c_str());
    }
    flopcast::test::check(difference.empty());
  }
  return 0;
}
