// Answers from catalog/answers:
//
//   title = "Training steps"
//   commands = ["estimate"]
//   root = "Estimate"                                  what --json prints
//   pages = ["EstimatePage"]                           what a page holds, if there is one
//   row = "EstimateRow"                                the columns of --csv, if there is one
//   [Estimate]
//   time_s = "number: one step"
//   rate = "number (tokens/s): of all chips"
//   stages = "[Stage]: of the pipeline"
//   run = "WholeRun or null: with --tokens"
//   "..." = "Question"                                  every field of that object stands here
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "flopcast/report/schema.h"

namespace flopcast {
namespace {

/// A number's unit is in its name, but where the field says it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kUnits = {{
    {"bytes_per_s", "B/s"},
    {"flop_per_s", "FLOP/s"},
    {"flops_per_s", "FLOP/s"},
    {"flop_per_byte", "FLOP/B"},
    {"tokens_per_s", "tokens/s"},
    {"tokens_per_second", "tokens/s"},
    {"requests_per_s", "requests/s"},
    {"samples_per_second", "samples/s"},
    {"usd_per_million_tokens", "USD"},
    {"usd_per_chip_hour", "USD/h"},
    {"bytes", "B"},
    {"hours", "h"},
    {"usd", "USD"},
    {"flop", "FLOP"},
    {"flops", "FLOP"},
    {"ns", "ns"},
    {"kg", "kg"},
    {"days", "d"},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLetters = {
    {{"_s", "s"}, {"_j", "J"}, {"_w", "W"}}};

std::string_view unit_in(std::string_view name) {
  for (const auto& [end, unit] : kUnits) {
    if (name.ends_with(end)) return unit;
  }
  for (const auto& [end, unit] : kLetters) {
    if (name.ends_with(end)) return unit;
  }
  return {};
}

constexpr std::array<std::pair<std::string_view, AnswerKind>, 7> kKinds = {{
    {"text", AnswerKind::kText},
    {"flag", AnswerKind::kFlag},
    {"count", AnswerKind::kCount},
    {"integer", AnswerKind::kInteger},
    {"number", AnswerKind::kNumber},
    {"ratio", AnswerKind::kRatio},
    {"any", AnswerKind::kAny},
}};

/// "[Stage]", "{number}", "text". None: no type is written so.
std::optional<AnswerType> read_type(std::string_view text) {
  const auto held = [&](char open, char close, AnswerKind kind) -> std::optional<AnswerType> {
    if (text.size() < 3 || text.front() != open || text.back() != close) return std::nullopt;
    std::optional<AnswerType> item = read_type(text.substr(1, text.size() - 2));
    if (!item) return std::nullopt;
    return AnswerType{kind, {}, {std::move(*item)}};
  };
  if (text.starts_with('[')) return held('[', ']', AnswerKind::kList);
  if (text.starts_with('{')) return held('{', '}', AnswerKind::kMap);
  for (const auto& [name, kind] : kKinds) {
    if (text == name) return AnswerType{kind, {}, {}};
  }
  if (text.empty() || text.front() < 'A' || text.front() > 'Z') return std::nullopt;
  return AnswerType{AnswerKind::kObject, std::string(text), {}};
}

AnswerKind innermost(const AnswerType& type) {
  return type.items.empty() ? type.kind : innermost(type.items.front());
}

/// Takes `end` off the end of `text`, if that is there.
bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

Diagnostic misdescribed(const std::string& where, std::string what) {
  return {ErrorCode::kBadInput, where, std::move(what),
          "\"TYPE (UNIT) or null or absent: meaning\", TYPE one of text, flag, count, integer, "
          "number, ratio, any, an "
          "object's name, [TYPE], {TYPE}"};
}

Result<AnswerField> read_field(const std::string& where, std::string name, std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return misdescribed(where, "no \": \" before the meaning");
  AnswerField field;
  field.name = std::move(name);
  field.meaning = text.substr(colon + 2);
  std::string_view type = text.substr(0, colon);
  field.optional = take_end(type, " or absent");
  field.nullable = take_end(type, " or null");
  const std::size_t open = type.find(" (");
  if (open != std::string_view::npos && type.ends_with(')')) {
    field.unit = type.substr(open + 2, type.size() - open - 3);
    type = type.substr(0, open);
  }
  const std::optional<AnswerType> known = read_type(type);
  if (!known) return misdescribed(where, fmt::format("'{}' is no type", type));
  field.type = *known;
  const bool number = innermost(field.type) == AnswerKind::kNumber;
  if (number && field.unit.empty()) field.unit = unit_in(field.name);
  if (number == field.unit.empty()) {
    return misdescribed(where, number ? "a number without a unit: name it, or call it a ratio"
                                      : "a unit of what is no number");
  }
  return field;
}

/// Members in the order of the file.
std::vector<std::pair<std::string, const toml::node*>> in_order(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> members;
  for (const auto& [key, value] : table) members.emplace_back(key.str(), &value);
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return a.second->source().begin < b.second->source().begin;
  });
  return members;
}

Result<AnswerObject> read_object(const TomlFile& file, std::string name, const toml::table& table) {
  AnswerObject object;
  object.name = std::move(name);
  for (const auto& [key, node] : in_order(table)) {
    const auto text = node->value<std::string>();
    const std::string where = place(file, *node) + ": " + key;
    if (!text) return misdescribed(where, "no text");
    if (key == "...") {
      object.extends = *text;
      object.extends_at = object.fields.size();
      continue;
    }
    Result<AnswerField> field = read_field(where, key, *text);
    if (!field) return field.error();
    object.fields.push_back(std::move(*field));
  }
  return object;
}

std::vector<std::string> texts_of(toml::node_view<const toml::node> list) {
  std::vector<std::string> texts;
  if (const toml::array* items = list.as_array()) {
    for (const toml::node& one : *items) texts.push_back(one.value_or(std::string()));
  }
  return texts;
}

Result<Answer> read_answer(const AnswerFile& source) {
  Result<TomlFile> file = parse_toml(source.text, "answers/" + source.name + ".toml", false);
  if (!file) return file.error();
  Answer answer;
  answer.name = source.name;
  const toml::table& root = file->root;
  answer.title = root["title"].value_or(std::string());
  answer.about = root["about"].value_or(std::string());
  answer.root = root["root"].value_or(std::string());
  answer.row = root["row"].value_or(std::string());
  answer.commands = texts_of(root["commands"]);
  answer.pages = texts_of(root["pages"]);
  for (const auto& [key, node] : in_order(file->root)) {
    if (!node->is_table()) continue;
    Result<AnswerObject> object = read_object(*file, key, *node->as_table());
    if (!object) return object.error();
    answer.objects.push_back(std::move(*object));
  }
  return answer;
}

void collect(const AnswerType& type, std::vector<std::string>& objects) {
  if (type.kind == AnswerKind::kObject) objects.push_back(type.object);
  for (const AnswerType& item : type.items) collect(item, objects);
}

/// Names of objects that an answer needs.
std::vector<std::string> named_in(const Answer& answer) {
  std::vector<std::string> names = answer.pages;
  for (const std::string& name : {answer.root, answer.row}) {
    if (!name.empty()) names.push_back(name);
  }
  for (const AnswerObject& object : answer.objects) {
    if (!object.extends.empty()) names.push_back(object.extends);
    for (const AnswerField& field : object.fields) collect(field.type, names);
  }
  return names;
}

std::optional<Diagnostic> unresolved(const std::vector<Answer>& all) {
  std::set<std::string, std::less<>> known;
  for (const Answer& answer : all) {
    for (const AnswerObject& object : answer.objects) {
      if (!known.insert(object.name).second) {
        return misdescribed("answers/" + answer.name + ".toml",
                            fmt::format("{} is described twice", object.name));
      }
    }
  }
  for (const Answer& answer : all) {
    for (const std::string& name : named_in(answer)) {
      if (known.contains(name)) continue;
      return misdescribed("answers/" + answer.name + ".toml",
                          fmt::format("nothing describes {}", name));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<Answer>> read_answers(const std::vector<AnswerFile>& files) {
  std::vector<Answer> all;
  for (const AnswerFile& file : files) {
    Result<Answer> answer = read_answer(file);
    if (!answer) return answer.error();
    all.push_back(std::move(*answer));
  }
  if (auto problem = unresolved(all)) return *problem;
  return all;
}

const std::vector<Answer>& answers() {
  // Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
  static const std::vector<Answer> all = [] {
    std::vector<AnswerFile> files;
    constexpr std::string_view kFolder = "answers/", kEnd = ".toml";
    for (const CatalogFile& file : catalog_files()) {
      if (!file.path.starts_with(kFolder)) continue;
      const std::string_view name = file.path.substr(kFolder.size());
      files.push_back(
          {std::string(name.substr(0, name.size() - kEnd.size())), std::string(file.text)});
    }
    Result<std::vector<Answer>> read = read_answers(files);
    return read ? std::move(*read) : std::vector<Answer>();
  }();
  return all;
}

Result<const Answer*> find_answer(std::string_view name) {
  std::vector<std::string> known;
  for (const Answer& answer : answers()) {
    if (answer.commands.empty()) continue;
    const auto& of = answer.commands;
    if (answer.name == name || std::find(of.begin(), of.end(), name) != of.end()) return &answer;
    known.push_back(answer.name);
  }
  return usage_error(std::string(name), "no answer is called so",
                     did_you_mean(name, known, "flopcast schema lists them"));
}

}  // namespace flopcast
