// Floor 0: YAML as PyYAML reads it, which is what most launchers read theirs with.
//
// Plain scalars have the types of YAML 1.1: yes, no, on and off are true and false, 0x1F, 010 and 1_000 are whole
// numbers, 1e-5 is a text (a number needs a point, and its exponent a sign: 1.0e-5). Dates, 12:30, infinities and
// numbers beyond 64 bits stay texts. Anchors, aliases and merges ("<<") are followed within bounds; a value with a
// tag of some program's own ("!include x", "!!python/object") is the text "!include x" and nothing of what it holds.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// One document, with the places of what it says.
struct YamlFile {
  std::string name;  ///< for errors
  nlohmann::ordered_json root;
  /// Of each key and item, by its JSON pointer ("/training/batch", "/steps/0"): the line, from 1.
  std::map<std::string, int, std::less<>> lines;
  /// Keys that stand twice in a mapping, of which the last counts: "batch: in the lines 3 and 9".
  std::vector<std::string> repeated;

  /// Of what stands at a JSON pointer, or of what holds it: values that an alias repeats have its line.
  int line(std::string_view pointer) const;
  /// "config.yaml:7"
  std::string place(std::string_view pointer) const;
};

/// A text that is one document. Errors, with the line: no YAML; several documents; a key that is a list or a
/// mapping; too deep, too large, or larger than it looks by its aliases.
Result<YamlFile> parse_yaml(std::string_view text, const std::string& name);
/// All documents of a text; empty ones (behind a last "---") are left out.
Result<std::vector<YamlFile>> parse_yaml_documents(std::string_view text, const std::string& name);

}  // namespace flopcast
