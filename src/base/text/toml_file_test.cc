#include "base/text/toml_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text/toml_string.h"
#include "base/text/utf8.h"

namespace flopcast {
namespace {

constexpr std::string_view kText = R"([sources]
sheet = "Box datasheet"
[box.small]
source = "sheet"
size = 3
sides.left = [1, 2]
weight = { value = 7, source = "a scale", basis = "measured" }
[box.large]
size = 30
)";

TEST(TomlFile, GivesTablesAsSettingsWithPlaceAndSource) {
  const Result<TomlFile> file = parse_toml(kText, "box.toml", false);
  ASSERT_TRUE(file) << file.error().text();
  const auto boxes = tables_of(*file, "box");
  ASSERT_TRUE(boxes);
  ASSERT_EQ(boxes->size(), 2u);
  EXPECT_EQ((*boxes)[0].name, "small");
  const auto settings = settings_of(*file, *(*boxes)[0].table);
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->size(), 3u);
  const Setting& size = (*settings)[0];
  EXPECT_EQ(size.key, "size");
  EXPECT_EQ(size.where, "box.toml:5:8");
  EXPECT_EQ(size.source, "Box datasheet");
  EXPECT_EQ((*settings)[1].key, "sides.left");
  EXPECT_EQ((*settings)[1].value, "1x2");
  EXPECT_EQ((*settings)[2].basis, Basis::kMeasured);
  EXPECT_EQ((*settings)[2].source, "a scale");
}

TEST(TomlFile, WhatIsNoTextIsNamed) {
  EXPECT_EQ(
      parse_toml("a = 1\nb = \"\xff\"", "f.toml", false).error().text(),
      "f.toml:2: the byte 0xff is no text (save the file as UTF-8 without control characters)");
  EXPECT_FALSE(parse_toml("a = \"\x01\"", "f.toml", false));
  EXPECT_EQ(parse_toml("a = ", "f.toml", false).error().where.substr(0, 7), "f.toml:");
}

TEST(TomlFile, TheCatalogueNamesItsSources) {
  const Result<TomlFile> file =
      parse_toml("[box.a]\nsource = \"hearsay\"\nsize = 1", "f.toml", true);
  ASSERT_TRUE(file);
  const auto boxes = tables_of(*file, "box");
  EXPECT_EQ(settings_of(*file, *(*boxes)[0].table).error().what, "no source is called 'hearsay'");
}

RC_GTEST_PROP(TomlFile, TextThatIsWrittenIsReadBack, (const std::string& bytes)) {
  const std::string text = valid_utf8(bytes);
  const Result<TomlFile> file = parse_toml("a = " + toml_string(text), "f.toml", false);
  RC_ASSERT(file.ok());
  RC_ASSERT(file->root["a"].value<std::string>() == text);
}

}  // namespace
}  // namespace flopcast
