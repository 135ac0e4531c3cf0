#include "base/text/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace flopcast {
namespace {

using Json = nlohmann::ordered_json;

Json value_of(const std::string& text) {
  const Result<YamlFile> file = parse_yaml("a: " + text, "f.yaml");
  EXPECT_TRUE(file) << text << ": " << file.error().text();
  return file ? file->root["a"] : Json("no YAML");
}

std::string error_of(const std::string& text) {
  const Result<YamlFile> file = parse_yaml(text, "f.yaml");
  return file ? "read: " + file->root.dump() : file.error().text();
}

// What PyYAML 6's safe_load makes of each.
TEST(Yaml, ScalarsHaveTheTypesThatPyyamlGives) {
  const std::pair<const char*, Json> cases[] = {{"1", 1},
                                                {"-12", -12},
                                                {"+1", 1},
                                                {"1_000", 1000},
                                                {"010", 8},
                                                {"08", "08"},
                                                {"0x1F", 31},
                                                {"0b11", 3},
                                                {"0", 0},
                                                {"1.5", 1.5},
                                                {"1.", 1.0},
                                                {".5", 0.5},
                                                {"-.5", "-.5"},
                                                {"1.0e+5", 1e5},
                                                {"1.e+3", 1e3},
                                                {"1.5E-3", 1.5e-3},
                                                {"1_0.5", 10.5},
                                                {"1e-5", "1e-5"},
                                                {"1.0e5", "1.0e5"},
                                                {"1e5", "1e5"},
                                                {"-2.5", -2.5},
                                                {"+2.5", 2.5},
                                                {"._", "._"},
                                                {"0x", "0x"},
                                                {"true", true},
                                                {"Yes", true},
                                                {"on", true},
                                                {"False", false},
                                                {"off", false},
                                                {"NO", false},
                                                {"y", "y"},
                                                {"tRue", "tRue"},
                                                {"~", nullptr},
                                                {"null", nullptr},
                                                {"", nullptr},
                                                {"none", "none"},
                                                {"'1'", "1"},
                                                {"\"yes\"", "yes"},
                                                {"'null'", "null"},
                                                {"!!str 1", "1"},
                                                {"!!float 1", 1.0},
                                                {"!!int 7", 7},
                                                {"a b", "a b"},
                                                {"1.2.3", "1.2.3"},
                                                {"2020-01-01", "2020-01-01"},
                                                {"0.0", 0.0},
                                                {"!!float 1e-5", 1e-5},
                                                {"9223372036854775807", 9223372036854775807},
                                                {"9223372036854775808", "9223372036854775808"}};
  for (const auto& [text, expected] : cases) {
    const Json found = value_of(text);
    EXPECT_EQ(found, expected) << text;
    EXPECT_EQ(found.type() == Json::value_t::string, expected.is_string()) << text;
    EXPECT_EQ(found.is_number_float(), expected.is_number_float()) << text;
  }
}

TEST(Yaml, EscapesArePointsOfUnicode) {
  EXPECT_EQ(value_of(R"("a\Nb\_c\u00e9\x41")"),
            "a\xc2\x85"
            "b\xc2\xa0"
            "c\xc3\xa9"
            "A");
}

TEST(Yaml, InfinitiesStayTexts) {
  EXPECT_EQ(value_of(".inf"), ".inf");
  EXPECT_EQ(value_of("-.Inf"), "-.Inf");
  EXPECT_EQ(value_of("1.0e+999"), "1.0e+999");
}

TEST(Yaml, KeysKeepTheirOrderAndTheirText) {
  const auto file = parse_yaml("z: 1\n1: 2\non: 3\n\"a/b\": {c: 4}\n", "f.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->root.dump(), R"({"z":1,"1":2,"on":3,"a/b":{"c":4}})");
  EXPECT_EQ(file->line("/on"), 3);
  EXPECT_EQ(file->line("/a~1b/c"), 4);
}

TEST(Yaml, KeysAndItemsHaveLines) {
  const auto file = parse_yaml(
      "# comment\ntraining:\n  batch: 4\n\n  steps:\n    - 1\n    - {x: 2}\nrest: &r {q: 1}\n"
      "more: *r\n",
      "dir/f.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->line("/training"), 2);
  EXPECT_EQ(file->line("/training/batch"), 3);
  EXPECT_EQ(file->line("/training/steps"), 5);
  EXPECT_EQ(file->line("/training/steps/1"), 7);
  EXPECT_EQ(file->line("/training/steps/1/x"), 7);
  EXPECT_EQ(file->place("/more/q"), "dir/f.yaml:9");  // that of the alias
  EXPECT_EQ(file->line("/nowhere"), 1);
}

TEST(Yaml, AnchorsAndMergesAreFollowed) {
  const auto file = parse_yaml(
      "a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x}\nc:\n  <<: [{z: 1, y: 2}, {z: 2, w: 1}]\nd: *x\n"
      "e: {'<<': 5}\n",
      "f.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->root["b"], Json::parse(R"({"q":3,"p":1})"));
  EXPECT_EQ(file->root["c"], Json::parse(R"({"z":1,"y":2,"w":1})"));
  EXPECT_EQ(file->root["d"], Json::parse(R"({"p":1,"q":2})"));
  EXPECT_EQ(file->root["e"], Json::parse(R"({"<<":5})"));  // quoted: a key like any other
}

TEST(Yaml, ARepeatedKeyIsToldAndTheLastCounts) {
  const auto file = parse_yaml("lr: 1\nb: {lr: 5}\nlr: 2\n", "f.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->root.dump(), R"({"lr":2,"b":{"lr":5}})");
  ASSERT_EQ(file->repeated.size(), 1u);
  EXPECT_EQ(file->repeated[0], "lr: in the lines 1 and 3");
}

TEST(Yaml, ATagOfAProgramsOwnIsNotReadAsItsValue) {
  EXPECT_EQ(value_of("!include other.yaml"), "!include other.yaml");
  EXPECT_EQ(value_of("!!python/object:m.C {batch: 4}"), "!!python/object:m.C");
  EXPECT_EQ(value_of("!!int no"), "!!int no");
  EXPECT_EQ(value_of("!!python/tuple [1, 2]"), Json::parse("[1,2]"));
}

TEST(Yaml, ErrorsHaveFileAndLine) {
  EXPECT_EQ(error_of("a: 1\nb: [1, 2\nc: 3\n").substr(0, 22), "f.yaml:3: is no YAML: ");
  EXPECT_EQ(error_of("a: 1\n\tb: 2\n").substr(0, 9), "f.yaml:2:");
  EXPECT_EQ(error_of("a: 1\n? [x]\n: 2\n"),
            "f.yaml:2: a key that is a list or a mapping (use a text as the key)");
  EXPECT_EQ(error_of("a: 1\nb: {<<: 3}\n"),
            "f.yaml:2: '<<' merges something else than mappings (give an alias of a mapping, or a "
            "list of them)");
  EXPECT_EQ(
      error_of("a: 1\nb: \xff\n"),
      "f.yaml:2: the byte 0xff is no text (save the file as UTF-8 without control characters)");
  EXPECT_EQ(error_of("a: &x [*x]\n"), "f.yaml:1: an alias of what holds it (write the value out)");
  EXPECT_EQ(error_of("a: *nobody\n").substr(0, 22), "f.yaml:1: is no YAML: ");
}

TEST(Yaml, SeveralDocumentsAreReadOrRefused) {
  const auto files = parse_yaml_documents("a: 1\n---\nb: 2\n---\n", "f.yaml");
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[1].root["b"], 2);
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"),
            "f.yaml: holds 2 YAML documents, one was expected (give the one that is meant, without "
            "its '---')");
  EXPECT_EQ(error_of("---\na: 1\n...\n"), R"(read: {"a":1})");
  EXPECT_EQ(error_of(""), "read: null");
}

// yaml-cpp makes documents without values of such a rest for ever.
TEST(Yaml, ARestThatBelongsToNoDocumentIsRefused) {
  EXPECT_EQ(error_of("a\n- b: c\n").substr(0, 9), "f.yaml:2:");
  EXPECT_EQ(error_of("'a'/b:\n00 'c'\n- d\n").substr(0, 7), "f.yaml:");
}

TEST(Yaml, ABombOfAliasesIsRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}*a{}", k > 0 ? ", " : "", i - 1);
    text += "]\n";
  }
  EXPECT_EQ(error_of(text).substr(0, 42), "f.yaml:5: aliases repeat more than is read");
  // One long text, many times.
  std::string long_text = "a: &a \"" + std::string(1 << 20, 'x') + "\"\nb: [";
  for (int i = 0; i < 1000; ++i) long_text += "*a, ";
  EXPECT_NE(error_of(long_text + "]\n").find("aliases repeat more"), std::string::npos);
}

TEST(Yaml, DepthAndSizeAreBounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(error_of(nested(64)).substr(0, 6), "read: ");
  EXPECT_EQ(error_of(nested(65)), "f.yaml:1: more than 64 values in each other (use fewer levels)");
  EXPECT_EQ(error_of(nested(100'000)).substr(0, 9), "f.yaml:1:");
  EXPECT_NE(error_of("a: " + std::string(5 << 20, 'x')).find("bytes of YAML"), std::string::npos);
  std::string wide;
  for (int i = 0; i < 50'000; ++i) wide += fmt::format("key{}: {}\n", i, i);
  const auto file = parse_yaml(wide, "f.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->root.size(), 50'000u);
}

}  // namespace
}  // namespace flopcast
