// Questions that lie in files: TOML as people write it, JSON as `flopcast serve --json` does, launches of servers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/files/read_file.h"
#include "base/text/json_error.h"
#include "base/text/toml_file.h"
#include "question/serve/values.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

using serve_json = nlohmann::ordered_json;  // settings stay in the order in which they are written

constexpr const char* kServeReference =
    "docs/reference/serve-files.md has the fields of a question";

/// Takes one member into the file; paths become relative to its folder.
void take_setting(ServeFile& file, const std::string& name, const std::string& value,
                  const std::filesystem::path& folder) {
  if (name == "model" || name == "on") {
    (name == "model" ? file.model : file.cluster) = value;
    return;
  }
  const bool names_file =
      name == "trace" || (name == "point" && value.find('=') == std::string::npos);
  file.settings.emplace_back(name, names_file && value.find('\0') == std::string::npos
                                       ? (folder / value).string()
                                       : value);
}

/// As flags have it; nothing where it is no value of a setting.
std::optional<std::string> setting_word(const serve_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

Result<ServeFile> read_json_question(const serve_json& question, const std::string& where,
                                     const std::filesystem::path& folder) {
  ServeFile file;
  for (const auto& [name, value] : question.items()) {
    const serve_json list = value.is_array() ? value : serve_json::array({value});
    for (const serve_json& each : list) {
      const auto word = setting_word(each);
      if (!word) {
        return Diagnostic{ErrorCode::kBadInput, where,
                          fmt::format("\"{}\" is a text, a number, true or false", name),
                          kServeReference};
      }
      take_setting(file, name, *word, folder);
    }
  }
  return file;
}

Result<ServeFile> parse_json_question(std::string_view text, const std::string& where,
                                      const std::filesystem::path& folder) {
  const serve_json document = serve_json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    return Diagnostic{ErrorCode::kBadInput,
                      fmt::format("{}:byte {}", where, json_error_byte(text).value_or(0)),
                      "the text is no JSON", kServeReference};
  }
  const bool inside = document.is_object() && document.contains("question");
  const serve_json& question = inside ? document["question"] : document;
  if (!question.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      "expected a question: an object of settings, found none", kServeReference};
  }
  return read_json_question(question, where, folder);
}

Result<ServeFile> parse_toml_question(std::string_view text, const std::string& where,
                                      const std::filesystem::path& folder) {
  const Result<TomlFile> toml = parse_toml(text, where, false);
  if (!toml) return toml.error();
  const Result<std::vector<Setting>> settings = settings_of(*toml, toml->root);
  if (!settings) return settings.error();
  ServeFile file;
  constexpr std::string_view kEngineTable = "set.";
  for (const Setting& setting : *settings) {
    // [set] holds settings of the engine, which flags write as --set KEY=VALUE.
    if (setting.key.starts_with(kEngineTable)) {
      std::string value;
      for (const std::string& one : setting.values) value += (value.empty() ? "" : ",") + one;
      file.settings.emplace_back("set", setting.key.substr(kEngineTable.size()) + "=" + value);
      continue;
    }
    for (const std::string& value : setting.values) {
      take_setting(file, setting.key, value, folder);
    }
  }
  return file;
}

}  // namespace

Result<ServeFile> parse_serve_file(std::string_view text, const std::string& where,
                                   const std::filesystem::path& folder,
                                   const std::string& arguments) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return parse_json_question(text, where, folder);
  }
  // A script or YAML is no question, even where it starts no server that is known: which is what to say of it.
  const bool script = text.starts_with("#!") || where.ends_with(".sh") ||
                      where.ends_with(".yaml") || where.ends_with(".yml");
  if (script || names_server(text)) {
    return file_of_servers(text, where, folder, arguments);
  }
  return parse_toml_question(text, where, folder);
}

std::optional<Diagnostic> strict_problem(const LaunchedFlags& flags, const std::string& where) {
  if (flags.unmodelled.empty() && flags.unknown.empty()) return std::nullopt;
  std::string what;
  const auto add = [&what](std::string_view kind, const std::vector<std::string>& names) {
    if (names.empty()) return;
    if (!what.empty()) what += "; ";
    what += fmt::format("{}: {}", kind, fmt::join(names, ", "));
  };
  add("not known", flags.unknown);
  add("not modelled", flags.unmodelled);
  return Diagnostic{ErrorCode::kBadInput, where, std::move(what), "leave --strict out"};
}

Result<ServeFile> read_serve_file(const std::filesystem::path& path, const std::string& arguments) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_serve_file(*text, path.string(), path.parent_path(), arguments);
}

}  // namespace flopcast
