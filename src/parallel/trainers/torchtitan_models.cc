#include "parallel/trainers/torchtitan_models.h"

#include <fmt/format.h>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::parallel {
namespace {

/// Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
const toml::table& registry() {
  static const toml::table root = [] {
    for (const CatalogFile& file : catalog_files()) {
      if (file.path != "launch/torchtitan-models.toml") continue;
      if (Result<TomlFile> read =
              parse_toml(file.text, "catalog/" + std::string(file.path), false)) {
        return std::move(read->root);
      }
    }
    return toml::table();
  }();
  return root;
}

std::vector<std::string> names_in(const toml::table& table) {
  std::vector<std::string> names;
  for (const auto& [key, value] : table) {
    if (value.is_table()) names.emplace_back(key.str());
  }
  return names;
}

Diagnostic not_there(const std::string& where, std::string_view what, std::string_view name,
                     const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return {
      ErrorCode::kBadInput, where, fmt::format("{} '{}' is not known", what, name),
      fmt::format("known are {}; or name the model as MODEL, and give the plan by flags", list)};
}

Result<Model> model_of(const toml::table& entry, const std::string& where, std::string name) {
  Result<Model> model = Diagnostic{};
  if (const auto builtin = entry["builtin"].value<std::string>()) {
    model = load_model(*builtin);
  } else {
    const toml::table* config = entry["config"].as_table();
    model = parse_model(toml_json(config == nullptr ? toml::table() : *config).dump(), where);
  }
  if (model) model->name = std::move(name);
  return model;
}

}  // namespace

Result<Model> titan_model(std::string_view name, std::string_view flavor,
                          const std::string& where) {
  const toml::table& root = registry();
  if (const auto what = root["refused"][name].value<std::string>()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      fmt::format("torchtitan's {} is {}, which is not forecast", name, *what),
                      "name a language model as MODEL, and give the plan by flags"};
  }
  const toml::table* all = root["model"].as_table();
  const toml::table* flavors = all == nullptr ? nullptr : (*all)[name].as_table();
  if (flavors == nullptr) {
    return not_there(where, "torchtitan's model", name,
                     all == nullptr ? std::vector<std::string>() : names_in(*all));
  }
  const toml::table* entry = (*flavors)[flavor].as_table();
  if (entry == nullptr) {
    return not_there(where, fmt::format("{}'s flavor", name), flavor, names_in(*flavors));
  }
  return model_of(*entry, where, fmt::format("{} {}", name, flavor));
}

TitanName titan_name(const Model& model) {
  using Entry = std::pair<TitanName, Model>;
  static const std::vector<Entry> all = [] {
    std::vector<Entry> entries;
    for (const std::string& name : names_in(*registry()["model"].as_table())) {
      for (const std::string& flavor : names_in(*registry()["model"][name].as_table())) {
        Result<Model> read = titan_model(name, flavor, name);
        if (read) entries.emplace_back(TitanName{name, flavor}, *std::move(read));
      }
    }
    return entries;
  }();
  for (const auto& [name, known] : all) {
    const bool same = known.kinds == model.kinds && known.order == model.order &&
                      known.hidden == model.hidden && known.vocab == model.vocab &&
                      known.tied_embeddings == model.tied_embeddings;
    if (same) return name;
  }
  return {};
}

Result<LaunchSettings> titan_config(std::string_view module, std::string_view config,
                                    const std::string& where) {
  const toml::table& root = registry();
  const toml::table* all = root["config"].as_table();
  const toml::table* configs = all == nullptr ? nullptr : (*all)[module].as_table();
  if (configs == nullptr) {
    return not_there(where, "torchtitan's module", module,
                     all == nullptr ? std::vector<std::string>() : names_in(*all));
  }
  const toml::table* entry = (*configs)[config].as_table();
  if (entry == nullptr) {
    return not_there(where, fmt::format("{}'s configuration", module), config, names_in(*configs));
  }
  const nlohmann::ordered_json values = toml_json(*entry);
  LaunchSettings settings;
  for (const auto& [key, value] : values.items()) {
    const std::string name = key == "flavor" ? "model.flavor" : key;
    const std::string words = value.is_string() ? value.get<std::string>() : value.dump();
    settings.push_back({setting_key(name), {words}, fmt::format("{}: {}", config, name), 0, false});
  }
  settings.push_back(
      {"model.name", {std::string(module)}, fmt::format("{}: model", config), 0, false});
  return settings;
}

}  // namespace flopcast::parallel
