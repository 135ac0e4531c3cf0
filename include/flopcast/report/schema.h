// Floor 8: what is in an answer: every field of every JSON document, once, for all who show or read it.
//
// catalog/answers/*.toml describes them. From it come docs/reference/json.md, the types of the pages' scripts
// (web/data.d.ts) and the attributes of Python's answers (python/flopcast/answers.py), all by tools/make_answers.py;
// tests hold every document that is written against it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// What a field holds.
enum class AnswerKind : std::uint8_t {
  kText,     ///< a string
  kFlag,     ///< true or false
  kCount,    ///< a whole number, at least 0
  kInteger,  ///< a whole number
  kNumber,   ///< a number with a unit
  kRatio,    ///< a number without one: a share or an error as a fraction, a factor
  kAny,      ///< what the field's meaning says
  kObject,   ///< an object with fields of its own
  kList,     ///< an array of items
  kMap,      ///< an object whose keys are data: names, with a value each
};

/// The type of a field, or of the items of a list or a map.
struct AnswerType {
  AnswerKind kind = AnswerKind::kAny;
  std::string object;             ///< name of the AnswerObject, of kObject alone
  std::vector<AnswerType> items;  ///< one, of kList and kMap
};

/// One field of an object.
struct AnswerField {
  std::string name;
  AnswerType type;
  std::string unit;       ///< "s", "B/s"; empty where it holds no number with a unit
  bool nullable = false;  ///< null where there is nothing to say
  bool optional = false;  ///< may be absent
  std::string meaning;    ///< in words; Markdown
};

/// An object with named fields.
struct AnswerObject {
  std::string name;            ///< "Stage"; unique among all answers
  std::string extends;         ///< the object whose fields it has as well; empty: none
  std::size_t extends_at = 0;  ///< before which of its own fields those come
  std::vector<AnswerField> fields;
};

/// The answer of a command.
struct Answer {
  std::string name;                   ///< of its file: "estimate"
  std::string title;                  ///< "Training steps"
  std::vector<std::string> commands;  ///< whose --json it is: "estimate"
  std::string about;  ///< what is to be known besides its fields; Markdown, may be empty
  std::string root;   ///< the object that the document is
  std::vector<std::string> pages;  ///< the objects that its page holds, its answer first
  std::string row;  ///< the object whose fields are the columns of --csv; empty: it has none
  std::vector<AnswerObject> objects;  ///< that its file describes
};

/// All answers, by their files' names. One without commands holds what others share.
const std::vector<Answer>& answers();
/// Answers from descriptions as in catalog/answers. Errors (kBadInput): no TOML, a type that is none, an object that
/// nobody describes or two describe, a number without a unit.
struct AnswerFile {
  std::string name, text;  ///< of the answer; TOML
};
Result<std::vector<Answer>> read_answers(const std::vector<AnswerFile>& files);

/// One answer as JSON Schema (draft 2020-12), its page's document under `$defs` as well; units are `x-unit`.
std::string answer_schema(const Answer& answer);
/// All as one document: `answers`, and every object under `$defs`.
std::string all_answers_schema();
/// For people: which answers there are, of which commands.
std::string answer_list_text();
/// The answer of that name or of that command. Errors (kUsage): none, with what is near.
Result<const Answer*> find_answer(std::string_view name);

}  // namespace flopcast
