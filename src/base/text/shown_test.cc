#include "base/text/shown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/text/utf8.h"
#include "flopcast/base.h"

namespace flopcast {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Shown, ControlCharactersAreEscaped) {
  EXPECT_EQ(escaped("\x1b]0;pwn\x07"), "\\u001b]0;pwn\\u0007");
  EXPECT_EQ(escaped(std::string_view("a\0b\x7f", 4)), "a\\u0000b\\u007f");
  EXPECT_EQ(escaped("\xc2\x9b[2J"), "\\u009b[2J");        // CSI in one byte of C1
  EXPECT_EQ(escaped("\xe2\x80\xae"), "\\u202e");          // turns what follows around
  EXPECT_EQ(escaped("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");  // no UTF-8
  EXPECT_EQ(escaped("caf\xc3\xa9 \xe2\x96\x88"), "caf\xc3\xa9 \xe2\x96\x88");  // text
  EXPECT_EQ(escaped("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(escaped_lines("a\nb\tc\r"), "a\nb\tc\\r");
}

TEST(Shown, AnExcerptHasBothEnds) {
  const std::string text = "begin" + std::string(20 << 20, 'x') + "end";
  const std::string shown = excerpt(text);
  EXPECT_LE(shown.size(), 200U);
  EXPECT_TRUE(shown.starts_with("beginxxx"));
  EXPECT_THAT(shown, HasSubstr("xxx...xxx"));
  EXPECT_TRUE(shown.ends_with("xxxend"));
  EXPECT_LE(excerpt(std::string(1000, '\x01')).size(), 200U);
  EXPECT_EQ(excerpt("short"), "short");
}

TEST(Shown, ErrorsQuoteLittle) {
  const std::string line(20 << 20, 'x');
  const auto text_of = [](const std::string& what) {
    return Diagnostic{ErrorCode::kBadInput, "a.csv:3", what, "mend or remove the row"}.text();
  };
  const std::string quoting = text_of("expected a number in column 'bytes', found '" + line + "'");
  EXPECT_LT(quoting.size(), 400U);
  EXPECT_TRUE(quoting.starts_with("a.csv:3: expected a number in column 'bytes', found 'xxx"));
  EXPECT_TRUE(quoting.ends_with("xxx' (mend or remove the row)"));
  EXPECT_LT(text_of(line).size(), 2100U);  // whoever forgot to quote
  EXPECT_LT(text_of("\"" + line + "\" is no text").size(), 400U);
}

TEST(Shown, LinesStayButNotInQuotations) {
  EXPECT_EQ(sentence("2 reasons:\n  the chip's memory\n  it isn't there"),
            "2 reasons:\n  the chip's memory\n  it isn't there");
  EXPECT_EQ(sentence("found 'a\nflopcast: done'"), "found 'a\\nflopcast: done'");
  EXPECT_EQ(sentence("no '\x1b[2J' here"), "no '\\u001b[2J' here");
}

TEST(Shown, ManyQuotesTakeNoTime) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += " 'x";
  EXPECT_LE(sentence(text).size(), 2000U);
}

RC_GTEST_PROP(ShownProperties, AnyBytesBecomeTextThatATerminalMayHave, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  for (const std::string& shown : {escaped(bytes), excerpt(bytes), sentence(bytes)}) {
    RC_ASSERT(valid_utf8(shown) == shown);
    RC_ASSERT(escaped_lines(shown) == shown);
  }
  RC_ASSERT(escaped(escaped(bytes)) == escaped(bytes));
}

}  // namespace
}  // namespace flopcast
