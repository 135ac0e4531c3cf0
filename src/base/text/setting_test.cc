#include "base/text/setting.h"

#include <gtest/gtest.h>

namespace flopcast {
namespace {

Setting setting(std::string value) {
  Setting made;
  made.key = "size";
  made.value = std::move(value);
  made.where = "box.toml:7:3";
  return made;
}

TEST(Setting, IsReadAsWhatItShouldBe) {
  EXPECT_EQ(*setting_number(setting("50GB/s"), UnitKind::kBytesPerSecond), 50e9);
  EXPECT_EQ(*setting_count(setting(" 8 ")), 8u);
  EXPECT_EQ(*setting_counts(setting("4x4X2")), (std::vector<unsigned>{4, 4, 2}));
  EXPECT_TRUE(*setting_flag(setting("Yes")));
  EXPECT_FALSE(*setting_flag(setting("off")));
}

TEST(Setting, IsRefusedWithItsPlaceAndWhatToWrite) {
  EXPECT_EQ(
      setting_count(setting("0")).error().text(),
      "box.toml:7:3: size: expected a whole number, found '0' (give a number from 1 to 16777216)");
  const Limits limits{4, 8};
  EXPECT_EQ(
      setting_number(setting("3"), UnitKind::kNone, limits).error().text(),
      "box.toml:7:3: size: expected a plain number of at least 4, found '3' (check the number)");
  EXPECT_FALSE(setting_number(setting("9"), UnitKind::kNone, limits));
  EXPECT_TRUE(setting_number(setting("8"), UnitKind::kNone, limits));
  Setting list = setting("5");
  list.list = true;
  EXPECT_FALSE(setting_number(list, UnitKind::kNone, limits));
  EXPECT_FALSE(setting_counts(setting("4x")));
  EXPECT_FALSE(setting_counts(setting("2x2x2x2x2x2x2x2x2")));
  EXPECT_FALSE(setting_flag(setting("maybe")));
}

TEST(Setting, AnUnknownKeyNamesTheNearest) {
  EXPECT_EQ(unknown_key(setting("1"), "a box", {"sizes", "colour"}).text(),
            "box.toml:7:3: a box has no 'size' (did you mean 'sizes'?)");
}

}  // namespace
}  // namespace flopcast
