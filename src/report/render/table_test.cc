#include "report/render/table.h"

#include <gtest/gtest.h>

#include "base/text/format.h"
#include "flopcast/base.h"

namespace flopcast::report {
namespace {

TEST(Table, AlignsByCodePoints) {
  Table table({{"name", Align::kLeft}, {"ms"}});
  table.add({"\xce\xbc", "1.5"});
  table.add({"long", "10.25"});
  EXPECT_EQ(table.text(), "  name     ms\n  \xce\xbc       1.5\n  long  10.25\n");
}

TEST(Table, NamesKeepToTheirCells) {
  Table table({{"name", Align::kLeft}, {"ms"}});
  table.add({"a\nb\x1b[2J", "1"});
  EXPECT_EQ(table.text(), "  name           ms\n  a\\nb\\u001b[2J   1\n");
}

TEST(Table, CsvQuotesWhatNeedsIt) {
  Table table({{"a"}, {"b"}});
  table.add({"x,y", "say \"hi\""});
  table.add({"", "1"});
  EXPECT_EQ(table.csv(), "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n,1\n");
}

TEST(Format, TimesAndCounts) {
  EXPECT_EQ(exact_seconds(Time::min()), "-9223372.036854775808");
  EXPECT_EQ(short_time(Time{1500}), "2 ns");
  EXPECT_EQ(short_time(Time::from_ns(12345)), "12.3 us");
  EXPECT_EQ(short_time(Time::from_us(1'200'000)), "1.20 s");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(123), "123");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(short_bytes(1'500'000), "1.5 MB");
}

TEST(Format, PercentNeverSaysMinusZero) {
  EXPECT_EQ(signed_percent(-0.00001), "+0.00 %");
  EXPECT_EQ(signed_percent(-0.012), "-1.20 %");
  EXPECT_EQ(signed_percent(std::nullopt), "-");
}

}  // namespace
}  // namespace flopcast::report
