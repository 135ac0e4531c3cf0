#include "parallel/trainers/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/toml_file.h"
#include "base/text/yaml.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

using Lines = std::map<std::string, unsigned, std::less<>>;

bool is_document_name(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json") ||
         word.ends_with(".toml");
}

/// "a/b.yaml" of "a" and "b.yaml" to "b.yaml".
std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

Diagnostic no_document(const LaunchText& text, std::string_view name) {
  return {ErrorCode::kBadInput, text.where, fmt::format("{} is no JSON object", name),
          "correct that file"};
}

Result<NamedDocument> parse_document(const LaunchText& text, std::string_view name,
                                     const std::string& bytes) {
  NamedDocument document{std::string(name), {}, {}};
  Lines lines;
  if (name.ends_with(".toml")) {
    const Result<TomlFile> file = parse_toml(bytes, document.name, false);
    if (!file) return file.error();
    document.root = toml_json(file->root, &lines);
  } else if (name.ends_with(".json")) {
    document.root = nlohmann::ordered_json::parse(bytes, nullptr, false, true);
  } else {
    Result<YamlFile> file = parse_yaml(bytes, document.name);
    if (!file) return file.error();
    document.root = std::move(file->root);
  }
  if (!document.root.is_object()) return no_document(text, name);
  document.settings = document_settings(document.root, lines);
  return document;
}

}  // namespace

Result<std::optional<NamedDocument>> find_document(const LaunchText& text, std::string_view name) {
  if (name.empty() || has_unknown(last_part(name))) return std::optional<NamedDocument>();
  std::optional<std::string> bytes;
  if (!has_unknown(name)) bytes = text.beside(name);
  if (!bytes) bytes = text.beside(last_part(name));
  if (!bytes) return std::optional<NamedDocument>();
  Result<NamedDocument> document = parse_document(text, name, *bytes);
  if (!document) return document.error();
  return std::optional<NamedDocument>(*std::move(document));
}

void put_ahead(LaunchText& text, const NamedDocument& document, std::string_view prefix) {
  LaunchSettings all = document.settings;
  for (LaunchSetting& setting : all) {
    if (!prefix.empty()) setting.key = fmt::format("{}.{}", setting_key(prefix), setting.key);
    setting.shown = fmt::format("{}: {}", last_part(document.name), setting.shown);
    setting.line = 0;
  }
  all.insert(all.end(), text.settings.begin(), text.settings.end());
  text.settings = std::move(all);
}

std::string_view value_of(const LaunchSettings& settings, std::string_view key) {
  std::string_view value;
  for (const LaunchSetting& setting : settings) {
    if (setting.key == key) value = setting.first();
  }
  return value;
}

std::string document_name(const LaunchText& text, std::string_view flags) {
  while (!flags.empty()) {
    const std::string_view flag = flags.substr(0, flags.find('|'));
    flags.remove_prefix(std::min(flag.size() + 1, flags.size()));
    const std::string_view value = value_of(text.settings, setting_key(flag));
    if (is_document_name(value)) return std::string(value);
  }
  for (std::size_t i = 0; i < text.words.size(); ++i) {
    const std::string& word = text.words[i];
    const bool value = i > 0 && text.words[i - 1].starts_with("--");
    if (!value && !word.starts_with("--") && is_document_name(word) &&
        word.find('=') == std::string::npos) {
      return word;
    }
  }
  return {};
}

std::optional<Diagnostic> open_document(LaunchText& text, std::string_view flags) {
  if (!text.document.is_null()) return std::nullopt;
  const std::string name = document_name(text, flags);
  if (name.empty()) return std::nullopt;
  const Result<std::optional<NamedDocument>> found = find_document(text, name);
  if (!found) return found.error();
  if (!found->has_value()) {
    return Diagnostic{
        ErrorCode::kBadInput, text.where,
        fmt::format("starts a training as {} says, which is not beside it", readable(name)),
        "give that file, or put it there"};
  }
  put_ahead(text, **found);
  text.document = (*found)->root;
  return std::nullopt;
}

}  // namespace flopcast::parallel
