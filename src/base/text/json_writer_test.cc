#include "base/text/json_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace flopcast {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonWriter, NestsBlocksAndLines) {
  JsonWriter w;
  w.begin_object();
  w.text("name", "a");
  w.begin_array("list");
  w.begin_object({}, JsonWriter::Layout::kLine);
  w.count("n", 2);
  w.boolean("yes", true);
  w.end_object();
  w.end_array();
  w.begin_array("none");
  w.end_array();
  w.end_object();
  EXPECT_EQ(
      std::move(w).take(),
      "{\n \"name\": \"a\",\n \"list\": [\n  {\"n\": 2, \"yes\": true}\n ],\n \"none\": []\n}\n");
}

TEST(JsonWriter, SecondsAreExact) {
  JsonWriter w;
  w.begin_array({}, JsonWriter::Layout::kLine);
  w.seconds({}, Time{1});
  w.seconds({}, Time::from_us(-1'500'000));
  w.seconds({}, Time{});
  w.seconds({}, Time::from_us(10'000'000));
  w.end_array();
  EXPECT_EQ(std::move(w).take(), "[0.000000000001, -1.5, 0, 10]\n");
}

TEST(JsonWriter, WhatIsNoNumberIsNull) {
  JsonWriter w;
  w.begin_array({}, JsonWriter::Layout::kLine);
  w.ratio({}, std::nullopt);
  w.ratio({}, 0.0 / 0.0);
  w.ratio({}, -0.0);
  w.end_array();
  EXPECT_EQ(std::move(w).take(), "[null, null, 0]\n");
}

TEST(JsonWriter, EscapesAndRepairsText) {
  EXPECT_EQ(json_of("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(json_of("\x01"), R"("\u0001")");
  EXPECT_EQ(json_of("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(json_of("\xc3"), R"("\ufffd")");                      // cut short
  EXPECT_EQ(json_of("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // a lone surrogate
  EXPECT_EQ(json_of("\xc0\xaf"), R"("\ufffd\ufffd")");            // longer than needed
}

TEST(JsonWriter, AnyBytesGiveAValidDocument) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_TRUE(nlohmann::json::accept(json_of(bytes)));
}

}  // namespace
}  // namespace flopcast
