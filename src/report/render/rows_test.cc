#include "report/render/rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace flopcast::report {
namespace {

TEST(FoldedRows, GoOnUnderWhereTheyBegan) {
  EXPECT_EQ(folded_rows("short\n\n  one two three four\n", {}, 12),
            "short\n\n  one two\n      three\n      four\n");
  EXPECT_EQ(folded_rows("a bb ccc dddd", " \\", 10), "a bb ccc \\\n    dddd\n");
  EXPECT_EQ(folded_rows("––– –––", {}, 7), "––– –––\n");  // columns, not bytes
}

RC_GTEST_PROP(FoldedRows, AreNoWiderAndLoseNoWord, ()) {
  std::string line, words;
  for (const auto length : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 12))) {
    const std::string word(static_cast<std::size_t>(length), 'x');
    line += (line.empty() ? "" : " ") + word;
    words += word;
  }
  std::string kept;
  std::size_t wide = 0;
  for (const char c : folded_rows(line, {}, 20)) {
    wide = c == '\n' ? 0 : wide + 1;
    RC_ASSERT(wide <= 20U);
    if (c == 'x') kept += c;
  }
  RC_ASSERT(kept == words);
}

}  // namespace
}  // namespace flopcast::report
