#include <gtest/gtest.h>

#include "flopcast/base/quantity.h"

namespace flopcast {
namespace {

TEST(Quantity, LongTimesHaveTheirUnits) {
  EXPECT_EQ(parse_seconds("10min")->value, 600);
  EXPECT_EQ(parse_seconds("50000 h")->value, 1.8e8);
  EXPECT_EQ(parse_seconds("2 days")->value, 172800);
}

TEST(Quantity, ReadsTheSpellingsPeopleUse) {
  EXPECT_EQ(parse_bytes("1GB")->value, 1e9);
  EXPECT_EQ(parse_bytes("64MiB")->value, 64.0 * 1048576);
  EXPECT_EQ(parse_bytes(" 512 ")->value, 512);
  EXPECT_EQ(parse_bytes("1.5e6 B")->value, 1.5e6);
  EXPECT_EQ(parse_bandwidth("400Gb/s")->value, 50e9);
  EXPECT_EQ(parse_bandwidth("400 Gbps")->value, 50e9);
  EXPECT_EQ(parse_bandwidth("50GB/s")->value, 50e9);
  EXPECT_EQ(parse_bandwidth("1GiB/s")->value, 0x1p30);
  EXPECT_DOUBLE_EQ(parse_seconds("2us")->value, 2e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("2 \xC2\xB5s")->value, 2e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5 ms")->value, 1.5e-3);
  EXPECT_EQ(parse_seconds("3e-6")->value, 3e-6);
  EXPECT_EQ(*parse_quantity("989TFLOP/s", UnitKind::kFlopsPerSecond), 989e12);
  EXPECT_EQ(*parse_quantity("2.25 PFLOPS", UnitKind::kFlopsPerSecond), 2.25e15);
  EXPECT_EQ(*parse_quantity("700W", UnitKind::kWatts), 700);
}

TEST(Quantity, RefusesTheWrongKindAndSaysWhatWasExpected) {
  const auto bandwidth = parse_bandwidth("3us");
  ASSERT_FALSE(bandwidth);
  EXPECT_EQ(bandwidth.error().what, "expected a bandwidth, found a time: '3us'");
  EXPECT_EQ(bandwidth.error().hint, "write it like 50GB/s or 400Gb/s");
  EXPECT_FALSE(parse_bytes("8GB/s"));
  EXPECT_FALSE(parse_bytes("8Gb"));  // bits are no amount of memory
  EXPECT_FALSE(parse_seconds("5GB"));
  EXPECT_FALSE(parse_bandwidth("50mB/s"));
  EXPECT_FALSE(parse_quantity("3us", UnitKind::kNone));
}

TEST(Quantity, RefusesWhatIsNoNumberOrNegative) {
  for (const char* text : {"", "GB", "1,5GB", "inf", "nan", "1e400", "--1", "1 2", "1e300PB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
  const auto negative = parse_bandwidth("-50GB/s");
  ASSERT_FALSE(negative);
  EXPECT_NE(negative.error().what.find("negative"), std::string::npos);
}

TEST(Quantity, ChangesAreFactorsOrValues) {
  EXPECT_EQ(parse_change("2x", UnitKind::kBytes)->of(3), 6);
  EXPECT_EQ(parse_change(" 0.5x ", UnitKind::kBytes)->of(3), 1.5);
  EXPECT_EQ(parse_change("1GB", UnitKind::kBytes)->of(3), 1e9);
  // 40 of what, or 40 times?
  for (const char* text : {"40", "1e9", "0.5", " 3 "}) {
    for (const UnitKind kind : {UnitKind::kBytes, UnitKind::kBytesPerSecond, UnitKind::kSeconds,
                                UnitKind::kFlopsPerSecond, UnitKind::kHertz}) {
      const auto bare = parse_change(text, kind);
      ASSERT_FALSE(bare) << text;
      EXPECT_NE(bare.error().what.find("with its unit, or a factor"), std::string::npos);
    }
    EXPECT_TRUE(parse_change(text, UnitKind::kNone)) << text;
    EXPECT_TRUE(parse_change(text, UnitKind::kWatts)) << text;
    EXPECT_TRUE(parse_change(text, UnitKind::kDollars)) << text;
  }
  EXPECT_EQ(parse_change("1.25GHz", UnitKind::kHertz)->of(3), 1.25e9);
  for (const char* text : {"", "x", "0", "0x", "-1x", "2xx", "1GBx", "3us"}) {
    const auto change = parse_change(text, UnitKind::kBytes);
    ASSERT_FALSE(change) << text;
    EXPECT_EQ(change.error().code, ErrorCode::kUsage) << text;
  }
}

TEST(Quantity, PrintsWithASuitablePrefix) {
  EXPECT_EQ(quantity_text(3.35e12, UnitKind::kBytesPerSecond), "3.35 TB/s");
  EXPECT_EQ(quantity_text(2.5e-6, UnitKind::kSeconds), "2.5 us");
  EXPECT_EQ(quantity_text(0, UnitKind::kSeconds), "0 s");
  EXPECT_EQ(quantity_text(1e9, UnitKind::kBytes), "1 GB");
  EXPECT_EQ(quantity_text(33000, UnitKind::kDollars), "33000 USD");
  EXPECT_EQ(quantity_text(132, UnitKind::kNone), "132");
}

}  // namespace
}  // namespace flopcast
