#include "base/text/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace flopcast {
namespace {

TEST(Utf8, TakesWholeSequencesOnly) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa9t"), 2u);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4u);
  for (const char* bad : {"", "\x80", "\xc3", "\xc3(", "\xe2\x82", "\xff"}) {
    EXPECT_EQ(utf8_length(bad), 0u) << bad;
  }
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndWhatUnicodeDoesNotHave) {
  for (const char* bad : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(utf8_length(bad), 0u) << bad;
  }
  EXPECT_EQ(utf8_length("\xed\x9f\xbf"), 3u);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4u);
}

TEST(Utf8, EveryWrongByteIsReplaced) {
  EXPECT_EQ(valid_utf8("a\xff\xfe"
                       "b",
                       "?"),
            "a??b");
  EXPECT_EQ(valid_utf8("cut \xe2\x82"), "cut \xef\xbf\xbd\xef\xbf\xbd");
}

RC_GTEST_PROP(Utf8, WhatIsWrittenIsRead, ()) {
  const auto point = *rc::gen::inRange<std::uint32_t>(0, 0x110000);
  RC_PRE(point < 0xd800 || point > 0xdfff);
  std::string text;
  append_utf8(text, point);
  RC_ASSERT(utf8_length(text) == text.size());
  RC_ASSERT(display_width(text) == 1u);
}

RC_GTEST_PROP(Utf8, ReplacedTextIsValidAndStaysSo, (const std::string& bytes)) {
  const std::string text = valid_utf8(bytes);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    RC_ASSERT(length > 0u);
    rest.remove_prefix(length);
  }
  RC_ASSERT(valid_utf8(text) == text);
}

TEST(Utf8, ShorteningKeepsBothEnds) {
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("abcdefghijklmnopqrstuvwxyz", 12), "abcdef...xyz");
}

RC_GTEST_PROP(Utf8, ShorteningCutsNoSequence, (const std::string& bytes)) {
  const std::string text = valid_utf8(bytes);
  const auto width = *rc::gen::inRange<std::size_t>(0, 20);
  const std::string cut = shortened(text, width);
  RC_ASSERT(cut.size() <= width);
  RC_ASSERT(valid_utf8(cut) == cut);
}

}  // namespace
}  // namespace flopcast
