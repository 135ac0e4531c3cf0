// The models of catalog/models/*.toml: a name, where it is published, its number of parameters, and
// the fields of its config.json.
#include <fmt/format.h>

#include <algorithm>

#include "base/files/input_file.h"
#include "base/files/read_file.h"
#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "workload/checkpoint/stored.h"
#include "workload/model/builtin.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

namespace fs = std::filesystem;

Diagnostic bad_entry(const TomlFile& file, const NamedTable& entry, std::string what) {
  return {ErrorCode::kBadInput, place(file, *entry.table), std::move(what),
          "an entry needs source = \"...\" (a key of [sources]) and a table config"};
}

Result<BuiltinModel> read_entry(const TomlFile& file, const NamedTable& entry) {
  const toml::table& table = *entry.table;
  const auto source = table["source"].value<std::string>();
  const auto cited = file.sources.find(source.value_or(""));
  if (cited == file.sources.end()) return bad_entry(file, entry, "expected a source");
  if (!table.contains("config")) return bad_entry(file, entry, "expected a config");
  std::string config = toml_json(*table.get("config")).dump();
  Result<Model> model = parse_model(config, place(file, table));
  if (!model) return model.error();
  model->name = entry.name;
  model->source = cited->second;
  model->published_parameters = table["parameters"].value_or(std::int64_t{0});
  BuiltinModel builtin{std::move(*model), {}, std::move(config)};
  if (const toml::array* aliases = table["aliases"].as_array()) {
    for (const toml::node& alias : *aliases) {
      builtin.aliases.push_back(alias.value_or(std::string()));
    }
  }
  return builtin;
}

const std::vector<BuiltinModel>& builtins() {
  static const std::vector<BuiltinModel> models = [] {
    std::vector<BuiltinModel> all;
    for (const CatalogFile& file : catalog_files()) {
      if (!file.path.starts_with("models/")) continue;
      Result<std::vector<BuiltinModel>> read =
          read_model_file(file.text, "catalog/" + std::string(file.path));
      // Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
      if (!read) continue;
      for (BuiltinModel& model : *read) all.push_back(std::move(model));
    }
    std::sort(all.begin(), all.end(), [](const BuiltinModel& a, const BuiltinModel& b) {
      return a.model.name < b.model.name;
    });
    return all;
  }();
  return models;
}

const BuiltinModel* find_builtin(std::string_view name) {
  const std::string key = name_key(name.substr(name.rfind('/') + 1));
  for (const BuiltinModel& builtin : builtins()) {
    if (name_key(builtin.model.name) == key) return &builtin;
    for (const std::string& alias : builtin.aliases) {
      if (name_key(alias) == key) return &builtin;
    }
  }
  return nullptr;
}

/// ModelOpt writes what it did into a file beside the config.
std::optional<Diagnostic> read_modelopt_file(const fs::path& config, Model& model) {
  const fs::path path = config.parent_path() / "hf_quant_config.json";
  std::error_code ignored;
  if (model.stored.quantised() || config == kStandardInput || !fs::exists(path, ignored)) {
    return std::nullopt;
  }
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  if (!document.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, path.string(), "expected a JSON object",
                      "give what ModelOpt wrote, or remove the file"};
  }
  model.stored = read_modelopt(document, model);
  return std::nullopt;
}

Result<Model> read_config_file(const fs::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<Model> model = parse_model(*text, path.string());
  if (!model) return model;
  if (auto problem = read_modelopt_file(path, *model)) return *problem;
  if (model->name == model->architecture) {
    model->name =
        (path.filename() == "config.json" ? path.parent_path().filename() : path.stem()).string();
    if (model->name.empty()) model->name = model->architecture;
  }
  return model;
}

}  // namespace

Result<std::vector<BuiltinModel>> workload::read_model_file(std::string_view text,
                                                            const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, true);
  if (!file) return file.error();
  const Result<std::vector<NamedTable>> entries = tables_of(*file, "model");
  if (!entries) return entries.error();
  std::vector<BuiltinModel> models;
  for (const NamedTable& entry : *entries) {
    Result<BuiltinModel> model = read_entry(*file, entry);
    if (!model) return model.error();
    models.push_back(std::move(*model));
  }
  return models;
}

std::span<const Model> builtin_models() {
  static const std::vector<Model> models = [] {
    std::vector<Model> all;
    for (const BuiltinModel& builtin : builtins()) all.push_back(builtin.model);
    return all;
  }();
  return models;
}

Result<Model> load_model(const std::string& name_or_path) {
  if (const BuiltinModel* builtin = find_builtin(name_or_path)) return builtin->model;
  std::error_code ignored;
  fs::path path = name_or_path;
  if (fs::is_directory(path, ignored)) path /= "config.json";
  // Pipes and devices too: reading tells which of them it takes.
  if (path == kStandardInput || fs::exists(path, ignored)) return read_config_file(path);
  std::vector<std::string> names;
  for (const BuiltinModel& builtin : builtins()) names.push_back(builtin.model.name);
  return Diagnostic{ErrorCode::kUsage, name_or_path, "is neither a built-in model nor a file",
                    did_you_mean(name_or_path, names,
                                 "give the path of a config.json, or see `flopcast models list`")};
}

}  // namespace flopcast
