#include "flopcast/report/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "catalog_files.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

Result<std::vector<Answer>> one_answer(const std::string& text) {
  return read_answers({{"made", text}});
}

TEST(AnswerSchema, EveryFileOfTheCatalogueIsRead) {
  std::vector<AnswerFile> files;
  for (const CatalogFile& file : catalog_files()) {
    if (file.path.starts_with("answers/")) {
      files.push_back({std::string(file.path), std::string(file.text)});
    }
  }
  ASSERT_FALSE(files.empty());
  const Result<std::vector<Answer>> read = read_answers(files);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(answers().size(), files.size());
}

TEST(AnswerSchema, FieldsKeepTheirOrderAndTakeTheirUnitFromTheName) {
  const Result<std::vector<Answer>> read = one_answer(R"(
commands = ["made"]
root = "Made"
[Made]
time_s = "number: a step"
bytes = "number or null: kept"
rate = "number (tokens/s): of all chips"
parts_s = "{number}: where it goes"
stages = "[Stage] or absent: of the pipeline"
[Stage]
share = "ratio: of the step"
)");
  ASSERT_TRUE(read) << read.error().text();
  const std::vector<AnswerField>& fields = read->front().objects.front().fields;
  ASSERT_EQ(fields.size(), 5u);
  EXPECT_EQ(fields[0].unit, "s");
  EXPECT_EQ(fields[1].unit, "B");
  EXPECT_TRUE(fields[1].nullable);
  EXPECT_EQ(fields[2].unit, "tokens/s");
  EXPECT_EQ(fields[3].type.items.at(0).kind, AnswerKind::kNumber);
  EXPECT_EQ(fields[4].type.items.at(0).object, "Stage");
  EXPECT_TRUE(fields[4].optional);
}

TEST(AnswerSchema, FieldsOfAnotherObjectStandWhereItIsNamed) {
  const Result<std::vector<Answer>> read = one_answer(R"(
root = "Made"
[Made]
first = "text: of its own"
"..." = "Shared"
last = "text: of its own"
[Shared]
between = "text: of others"
)");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().objects.front().extends, "Shared");
  EXPECT_EQ(read->front().objects.front().extends_at, 1u);
}

TEST(AnswerSchema, WhatIsMisdescribedIsRefusedWithItsPlace) {
  const auto refused = [](const std::string& field) {
    const auto read = one_answer("root = \"Made\"\n[Made]\n" + field + "\n");
    return read ? "read" : read.error().text();
  };
  EXPECT_THAT(refused("speed = \"number: of it\""), HasSubstr("a number without a unit"));
  EXPECT_THAT(refused("speed = \"number: of it\""), HasSubstr("made.toml:3"));
  EXPECT_THAT(refused("name = \"text (s): of it\""), HasSubstr("a unit of what is no number"));
  EXPECT_THAT(refused("name = \"string: of it\""), HasSubstr("'string' is no type"));
  EXPECT_THAT(refused("name = \"[text: of it\""), HasSubstr("'[text' is no type"));
  EXPECT_THAT(refused("name = \"text\""), HasSubstr("before the meaning"));
  EXPECT_THAT(refused("name = 3"), HasSubstr("no text"));
  EXPECT_THAT(refused("name = \"Other: of it\""), HasSubstr("nothing describes Other"));
  EXPECT_THAT(refused("[Other]\n[Other.x]"), HasSubstr("no text"));
}

/// Every "$ref" of a schema, and every name under its "$defs".
void references(const nlohmann::json& node, std::set<std::string>& found) {
  if (node.is_object() && node.contains("$ref") && node["$ref"].is_string()) {
    found.insert(node["$ref"].get<std::string>());
  }
  if (!node.is_structured()) return;
  for (const nlohmann::json& child : node) references(child, found);
}

TEST(AnswerSchema, HoldsAllThatItRefersTo) {
  for (const Answer& answer : answers()) {
    if (answer.commands.empty()) continue;
    const nlohmann::json schema = nlohmann::json::parse(answer_schema(answer));
    std::set<std::string> found;
    references(schema, found);
    for (const std::string& reference : found) {
      EXPECT_TRUE(schema.contains(nlohmann::json::json_pointer(reference.substr(1))))
          << answer.name << ": " << reference;
    }
  }
  const nlohmann::json all = nlohmann::json::parse(all_answers_schema());
  EXPECT_EQ(all.at("answers").size(), answers().size());
}

TEST(AnswerSchema, IsFoundByItsNameAndByItsCommands) {
  for (const Answer& answer : answers()) {
    for (const std::string& command : answer.commands) {
      const auto found = find_answer(command);
      ASSERT_TRUE(found) << command;
      EXPECT_EQ((*found)->name, answer.name);
    }
  }
  const auto none = find_answer("net tyme");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace flopcast
