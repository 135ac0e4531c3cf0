#include "trace/json/values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace flopcast::trace {
namespace {

JsonSlice slice(std::string_view text, JsonSlice::Kind kind) {
  return {text.data(), static_cast<std::uint32_t>(text.size()), kind,
          static_cast<std::uint16_t>(text.find('\\') != std::string_view::npos)};
}
JsonSlice scalar(std::string_view text) { return slice(text, JsonSlice::Kind::kScalar); }
JsonSlice string(std::string_view text) { return slice(text, JsonSlice::Kind::kString); }

std::string ns_of(const JsonSlice& value) {
  std::int64_t ns = 0;
  switch (parse_us_as_ns(value, ns)) {
    case Number::kGood:
      return std::to_string(ns);
    case Number::kHuge:
      return "huge";
    case Number::kBad:
      break;
  }
  return "bad";
}

TEST(ParseUs, IsExact) {
  EXPECT_EQ(ns_of(scalar("1706850122846038")), "1706850122846038000");
  EXPECT_EQ(ns_of(scalar("6322354305173.787")), "6322354305173787");
  EXPECT_EQ(ns_of(scalar("1712195495519689.25")), "1712195495519689250");
  EXPECT_EQ(ns_of(scalar("0")), "0");
  EXPECT_EQ(ns_of(scalar("0.001")), "1");
  EXPECT_EQ(ns_of(scalar("-3.5")), "-3500");
  EXPECT_EQ(ns_of(scalar("9223372036854775.807")), "9223372036854775807");
  EXPECT_EQ(ns_of(scalar("-9223372036854775.807")), "-9223372036854775807");
}

TEST(ParseUs, RoundsBelowANanosecondHalfAway) {
  EXPECT_EQ(ns_of(scalar("1.0004999")), "1000");
  EXPECT_EQ(ns_of(scalar("1.0005")), "1001");
  EXPECT_EQ(ns_of(scalar("-1.0005")), "-1001");
  EXPECT_EQ(ns_of(scalar("0.00000000000000000000000000000000000000000001")), "0");
  EXPECT_EQ(ns_of(scalar("123456789.99949999999999999999999999999999999999999")), "123456789999");
}

TEST(ParseUs, TakesExponentsAndStrings) {
  EXPECT_EQ(ns_of(scalar("1.712867402348256e15")), "1712867402348256000");
  EXPECT_EQ(ns_of(scalar("1712867402348256E+0")), "1712867402348256000");
  EXPECT_EQ(ns_of(scalar("25e-4")), "3");
  EXPECT_EQ(ns_of(string("1712867402348700")), "1712867402348700000");
  EXPECT_EQ(ns_of(string(" 4.5 ")), "4500");
}

TEST(ParseUs, RefusesWhatIsNoNumber) {
  for (const char* text : {"NaN", "Infinity", "-Infinity", "null", "true", "", "-", ".", "1.2.3",
                           "e5", "1e", "12x", "0x10"}) {
    EXPECT_EQ(ns_of(scalar(text)), "bad") << text;
  }
  EXPECT_EQ(ns_of(string("soon")), "bad");
  EXPECT_EQ(ns_of(slice("[1]", JsonSlice::Kind::kNested)), "bad");
  EXPECT_EQ(ns_of(JsonSlice{}), "bad");
}

TEST(ParseUs, TellsWhatDoesNotFit) {
  EXPECT_EQ(ns_of(scalar("9223372036854775.808")), "huge");
  EXPECT_EQ(ns_of(scalar("1e400")), "huge");
  EXPECT_EQ(ns_of(scalar("-1e99999999999999999999")), "huge");
  EXPECT_EQ(ns_of(scalar(std::string(500, '9'))), "huge");
  EXPECT_EQ(ns_of(scalar("0e999")), "0");
  EXPECT_EQ(ns_of(scalar("1e-999")), "0");
}

RC_GTEST_PROP(ParseUs, EveryNanosecondComesBack, (std::int64_t ns)) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  ns = std::max(ns, -most);
  const std::int64_t size = ns < 0 ? -ns : ns;
  std::string text = std::to_string(size % 1000);
  text = std::to_string(size / 1000) + "." + std::string(3 - text.size(), '0') + text;
  RC_ASSERT(ns_of(scalar((ns < 0 ? "-" : "") + text)) == std::to_string(ns));
}

std::string integer_of(const JsonSlice& value) {
  std::int64_t out = 0;
  switch (parse_integer(value, out)) {
    case Number::kGood:
      return std::to_string(out);
    case Number::kHuge:
      return "huge";
    case Number::kBad:
      break;
  }
  return "bad";
}

TEST(ParseInteger, AllSpellings) {
  EXPECT_EQ(integer_of(scalar("-1252714752")), "-1252714752");
  EXPECT_EQ(integer_of(string("0x0")), "0");
  EXPECT_EQ(integer_of(string("0xffffffffffffffff")), "-1");
  EXPECT_EQ(integer_of(string("0x10000000000000000")), "huge");
  EXPECT_EQ(integer_of(scalar("7.0")), "7");
  EXPECT_EQ(integer_of(scalar("18446744073709551615")), "-1");
  EXPECT_EQ(integer_of(scalar("10159970886766084423")), "-8286773186943467193");
  EXPECT_EQ(integer_of(scalar("18446744073709551616")), "huge");
  EXPECT_EQ(integer_of(scalar("-9223372036854775807")), "-9223372036854775807");
  for (const char* text : {"", "-", "null", "NaN", "[1]", "0x", "0xg", "7 8"}) {
    EXPECT_EQ(integer_of(scalar(text)), "bad") << text;
  }
}

RC_GTEST_PROP(ParseInteger, EveryIntegerComesBack, (std::int64_t number)) {
  number = std::max(number, -std::numeric_limits<std::int64_t>::max());
  number >>= *rc::gen::inRange(0, 63);  // of any count of digits
  const std::string text = std::to_string(number);
  RC_ASSERT(integer_of(scalar(text)) == text);
  RC_ASSERT(integer_of(string(text)) == text);
  std::string spoilt = text;
  spoilt[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::element('/', ':', 'a', '\xb5');
  RC_ASSERT(integer_of(scalar(spoilt)) == "bad");
}

std::string cleaned(std::string_view text, bool* replaced = nullptr) {
  std::string out;
  const bool any = clean_text(string(text), out);
  if (replaced != nullptr) *replaced = any;
  return out;
}

TEST(CleanText, Unescapes) {
  bool replaced = true;
  EXPECT_EQ(cleaned(R"(a\"b\\c\/d\n\t\u6838\ud83d\ude00)", &replaced),
            "a\"b\\c/d\n\t\u6838\U0001F600");
  EXPECT_FALSE(replaced);
}

TEST(CleanText, ReplacesWhatCannotBe) {
  bool replaced = false;
  EXPECT_EQ(cleaned(R"(bad\ud800name)", &replaced), "bad\uFFFDname");
  EXPECT_TRUE(replaced);
  EXPECT_EQ(cleaned(R"(\udc00\ud800A\ud8)"), "\uFFFD\uFFFDA\uFFFDd8");
  EXPECT_EQ(cleaned("a\xff\xfe"
                    "b"),
            "a??b");
  EXPECT_EQ(cleaned("cut \xe2\x82"), "cut ??");
  EXPECT_EQ(cleaned("a\x01\nb"), "a  b");
  EXPECT_EQ(cleaned("a\\q"), "aq");
}

}  // namespace
}  // namespace flopcast::trace
