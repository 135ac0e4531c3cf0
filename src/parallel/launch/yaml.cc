// YAML as settings, and flags of Megatron-LM in it: as keys of a mapping ("--tensor-model-parallel-size: 4",
// with or without dashes), or as items of a list ("- --tp", "- 4").
#include <algorithm>

#include "base/text/names.h"
#include "base/text/yaml.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {
namespace {

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

/// "/a/0/b" as "a.0.b".
std::string dotted(std::string_view pointer) {
  std::string path(pointer.substr(std::min<std::size_t>(1, pointer.size())));
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

/// The last name of a dotted key.
std::string_view leaf(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

bool looks_like_yaml(std::string_view line) {
  if (line.starts_with("---") && trim(line.substr(3)).empty()) return true;
  if (line.starts_with("- ") || line.starts_with("%YAML")) return true;
  return end_of_key(line) != std::string_view::npos;
}

std::optional<Diagnostic> read_yaml(std::string_view bytes, LaunchText& text) {
  Result<YamlFile> file = parse_yaml(bytes, text.where);
  if (!file) return file.error();
  std::map<std::string, unsigned, std::less<>> lines;
  for (const auto& [pointer, line] : file->lines) {
    lines[dotted(pointer)] = static_cast<unsigned>(std::max(line, 0));
  }
  text.document = std::move(file->root);
  text.settings = document_settings(text.document, lines);
  substitute(text.settings, text.site);
  for (const std::string& words : file->repeated) {
    text.notes.push_back("the file has a key twice, and the last counts: " + words);
  }
  return std::nullopt;
}

LaunchSettings document_flags(const LaunchSettings& leaves, bool (*known)(std::string_view key)) {
  const auto dashed = [](const LaunchSetting& one) { return leaf(one.key).starts_with("--"); };
  const auto is_known = [&](const LaunchSetting& one) { return known(leaf(one.key)); };
  const bool keys = std::any_of(leaves.begin(), leaves.end(), dashed);
  const bool plain = !keys && std::any_of(leaves.begin(), leaves.end(), is_known);
  LaunchSettings flags;
  std::vector<std::string> words;  // of lists
  for (const LaunchSetting& one : leaves) {
    if (!one.values.empty() && !dashed(one) && one.first().starts_with("--")) {
      for (const std::string& item : one.values) {
        for (std::string& word : shell_words(item)) words.push_back(std::move(word));
      }
      continue;
    }
    if (!(keys ? dashed(one) : plain)) continue;
    const std::string_view value = one.first();
    if (one.null || value == "false" || value == "False") continue;
    LaunchSetting flag = one;
    std::string_view name = leaf(one.key);
    while (name.starts_with('-')) name.remove_prefix(1);
    flag.key = std::string(name);
    if (keys) flag.shown = leaf(one.shown);
    if (value == "true" || value == "True") flag.values.clear();
    flags.push_back(std::move(flag));
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
