// Flags in YAML: as keys of a mapping ("--tensor-model-parallel-size: 4", with or without dashes), or as
// items of a list ("- --tp", "- 4").
#include <algorithm>
#include <cctype>

#include "base/text/names.h"
#include "parallel/launch/text.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

/// Without a comment and without the quotes around it.
std::string_view scalar(std::string_view text) {
  text = trim(text);
  if (text.size() > 1 && (text[0] == '"' || text[0] == '\'')) {
    const std::size_t end = text.find(text[0], 1);
    return end == std::string_view::npos ? text : text.substr(1, end - 1);
  }
  const std::size_t comment = text.find(" #");
  return trim(text.starts_with('#') ? std::string_view() : text.substr(0, comment));
}

/// Where the key of "key: value" ends; npos: the line has none.
std::size_t end_of_key(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::string_view::npos;
  const bool ends = colon + 1 == line.size() || line[colon + 1] == ' ';
  const std::string_view key = line.substr(0, colon);
  const bool word = key.find_first_of(" $(){}=;|&<>\"") == std::string_view::npos ||
                    (key.starts_with('"') && key.ends_with('"'));
  return ends && word ? colon : std::string_view::npos;
}

/// "[a, b]" as words; anything else as one.
std::vector<std::string> values_of(std::string_view text) {
  const std::string_view value = scalar(text);
  if (value.empty() || value == "true" || value == "True") return {};
  if (!value.starts_with('[') || !value.ends_with(']')) {
    return {std::string(value)};
  }
  std::vector<std::string> values;
  std::string list(value.substr(1, value.size() - 2));
  std::replace(list.begin(), list.end(), ',', ' ');
  return shell_words(list);
}

/// A value that asks for the flag not to be there.
bool is_off(std::string_view text) {
  const std::string_view value = scalar(text);
  return value == "false" || value == "False" || value == "null" || value == "~";
}

}  // namespace

bool looks_like_yaml(std::string_view line) {
  if (line.starts_with("---") && trim(line.substr(3)).empty()) return true;
  if (line.starts_with("- ")) return true;
  return end_of_key(line) != std::string_view::npos;
}

LaunchSettings yaml_flags(std::string_view text, bool (*known)(std::string_view key)) {
  LaunchSettings flags;
  std::vector<std::string> words;  // of lists
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("- ")) {
      const std::string item(scalar(line.substr(2)));
      // "- --tp 4" and "- --tp=4"; "- --tp: 4" is a mapping.
      if (end_of_key(item) == std::string_view::npos) {
        for (std::string& word : shell_words(item)) words.push_back(std::move(word));
        continue;
      }
      line = trim(line.substr(2));
    }
    const std::size_t colon = end_of_key(line);
    if (colon == std::string_view::npos || is_off(line.substr(colon + 1))) continue;
    std::string_view name = scalar(line.substr(0, colon));
    if (name.starts_with("--")) name.remove_prefix(2);
    if (!line.starts_with("--") && !known(setting_key(name))) continue;
    flags.push_back(flag_setting(name, values_of(line.substr(colon + 1))));
  }
  for (LaunchSetting& flag : command_settings(words)) flags.push_back(std::move(flag));
  return flags;
}

std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trim(text.substr(0, text.find('\n')));
    if (!line.empty() && line[0] != '#') return line;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

}  // namespace flopcast::parallel
