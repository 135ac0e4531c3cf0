// Answers as JSON Schema, draft 2020-12.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text/json_writer.h"
#include "flopcast/report/schema.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;
using Objects = std::map<std::string_view, const AnswerObject*>;

const Objects& objects() {
  static const Objects all = [] {
    Objects by_name;
    for (const Answer& answer : answers()) {
      for (const AnswerObject& object : answer.objects) by_name[object.name] = &object;
    }
    return by_name;
  }();
  return all;
}

std::string reference(std::string_view object) { return fmt::format("#/$defs/{}", object); }

/// JSON Schema's name of a type that is no object, list or map.
std::string_view schema_type(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::kText:
      return "string";
    case AnswerKind::kFlag:
      return "boolean";
    case AnswerKind::kCount:
    case AnswerKind::kInteger:
      return "integer";
    case AnswerKind::kNumber:
    case AnswerKind::kRatio:
      return "number";
    case AnswerKind::kList:
      return "array";
    case AnswerKind::kMap:
    case AnswerKind::kObject:
    case AnswerKind::kAny:
      return "object";
  }
  return "object";
}

/// Members that say what a value is; the object is open.
void write_type(JsonWriter& w, const AnswerType& type, bool nullable) {
  if (type.kind == AnswerKind::kAny) return;
  if (type.kind == AnswerKind::kObject) {
    if (!nullable) return w.text("$ref", reference(type.object));
    w.begin_array("oneOf", Layout::kLine);
    w.begin_object();
    w.text("$ref", reference(type.object));
    w.end_object();
    w.begin_object();
    w.text("type", "null");
    w.end_object();
    w.end_array();
    return;
  }
  if (nullable) {
    w.begin_array("type", Layout::kLine);
    w.text({}, schema_type(type.kind));
    w.text({}, "null");
    w.end_array();
  } else {
    w.text("type", schema_type(type.kind));
  }
  if (type.kind == AnswerKind::kCount) w.count("minimum", 0);
  if (type.items.empty()) return;
  // A number that is not finite is null, in lists and maps as well.
  const AnswerType& item = type.items.front();
  const bool number = item.kind == AnswerKind::kNumber || item.kind == AnswerKind::kRatio;
  w.begin_object(type.kind == AnswerKind::kList ? "items" : "additionalProperties");
  write_type(w, item, number);
  w.end_object();
}

std::vector<const AnswerField*> fields_of(const AnswerObject& object) {
  std::vector<const AnswerField*> fields;
  for (const AnswerField& field : object.fields) fields.push_back(&field);
  if (object.extends.empty()) return fields;
  const std::vector<const AnswerField*> others = fields_of(*objects().at(object.extends));
  const auto at = fields.begin() + static_cast<std::ptrdiff_t>(object.extends_at);
  fields.insert(at, others.begin(), others.end());
  return fields;
}

void write_object(JsonWriter& w, const AnswerObject& object) {
  const std::vector<const AnswerField*> fields = fields_of(object);
  w.begin_object(object.name);
  w.text("type", "object");
  w.boolean("additionalProperties", false);
  w.begin_array("required", Layout::kLine);
  for (const AnswerField* field : fields) {
    if (!field->optional) w.text({}, field->name);
  }
  w.end_array();
  w.begin_object("properties");
  for (const AnswerField* field : fields) {
    w.begin_object(field->name, Layout::kLine);
    write_type(w, field->type, field->nullable);
    if (!field->unit.empty()) w.text("x-unit", field->unit);
    if (field->type.kind == AnswerKind::kRatio) w.text("x-unit", "1");
    w.text("description", field->meaning);
    w.end_object();
  }
  w.end_object();
  w.end_object();
}

void add_needed(std::string_view name, std::vector<std::string_view>& names);

void add_needed(const AnswerType& type, std::vector<std::string_view>& names) {
  if (type.kind == AnswerKind::kObject) add_needed(type.object, names);
  for (const AnswerType& item : type.items) add_needed(item, names);
}

/// The object and all that its fields hold, each once.
void add_needed(std::string_view name, std::vector<std::string_view>& names) {
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  names.push_back(name);
  for (const AnswerField* field : fields_of(*objects().at(name))) add_needed(field->type, names);
}

void write_defs(JsonWriter& w, const std::vector<std::string_view>& names) {
  w.begin_object("$defs");
  for (const std::string_view name : names) write_object(w, *objects().at(name));
  w.end_object();
}

constexpr std::string_view kDraft = "https://json-schema.org/draft/2020-12/schema";

std::string command_words(const Answer& answer) {
  std::string words;
  for (const std::string& command : answer.commands) {
    words += fmt::format("{}flopcast {}", words.empty() ? "" : ", ", command);
  }
  return words;
}

}  // namespace

std::string answer_schema(const Answer& answer) {
  std::vector<std::string_view> names;
  add_needed(answer.root, names);
  for (const std::string& page : answer.pages) add_needed(page, names);
  add_needed(answer.row, names);
  JsonWriter w;
  w.begin_object();
  w.text("$schema", kDraft);
  w.text("title", answer.title);
  w.text("description", fmt::format("What --json prints: {}.", command_words(answer)));
  w.text("$ref", reference(answer.root));
  write_defs(w, names);
  w.end_object();
  return std::move(w).take();
}

std::string all_answers_schema() {
  JsonWriter w;
  w.begin_object();
  w.text("$schema", kDraft);
  w.begin_array("answers");
  std::vector<std::string_view> names;
  for (const Answer& answer : answers()) {
    w.begin_object();
    w.text("name", answer.name);
    w.text("title", answer.title);
    w.begin_array("commands", Layout::kLine);
    for (const std::string& command : answer.commands) w.text({}, command);
    w.end_array();
    w.text("about", answer.about);
    w.text("root", answer.root);
    w.begin_array("pages", Layout::kLine);
    for (const std::string& page : answer.pages) w.text({}, page);
    w.end_array();
    w.text("row", answer.row);
    w.begin_array("objects");
    for (const AnswerObject& object : answer.objects) {
      names.push_back(object.name);
      w.begin_object({}, Layout::kLine);
      w.text("name", object.name);
      w.text("extends", object.extends);
      w.end_object();
    }
    w.end_array();
    w.end_object();
  }
  w.end_array();
  write_defs(w, names);
  w.end_object();
  return std::move(w).take();
}

std::string answer_list_text() {
  Table table({{"answer"}, {"of"}, {"what"}});
  for (const Answer& answer : answers()) {
    if (!answer.commands.empty()) table.add({answer.name, command_words(answer), answer.title});
  }
  return table.text();
}

}  // namespace flopcast
