// Configs as nobody should write them: every number of every config of the catalogue as something else, every key gone,
// every object empty. What comes out is a model that can be computed with, or an error that names the key.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catalog_files.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "workload/model/builtin.h"
#include "workload/model/testing.h"

namespace flopcast::workload {
namespace {

using Json = nlohmann::json;

struct NamedConfig {
  std::string name;
  Json config;
};

/// Without lists of numbers that say the same as words beside them, so that each entry is changed but once.
Json short_of(Json config) {
  for (const char* key : {"moe_layers", "no_rope_layers", "num_attention_heads_per_layer",
                          "full_attn_idxs", "activation_sparsity_pattern"}) {
    if (config.contains("layer_types")) config.erase(key);
  }
  return config;
}

/// Of the catalogue, of every family that transformers ships, and around one as models of several modalities have it.
const std::vector<NamedConfig>& configs() {
  static const std::vector<NamedConfig> all = [] {
    std::vector<NamedConfig> list;
    for (const CatalogFile& file : catalog_files()) {
      if (!file.path.starts_with("models/")) continue;
      const auto read = read_model_file(file.text, std::string(file.path));
      for (const BuiltinModel& builtin : *read) {
        list.push_back({builtin.model.name, Json::parse(builtin.config)});
      }
    }
    const auto llama = std::ranges::find(list, "llama-3-8b", &NamedConfig::name);
    list.push_back({"llava of it", Json{{"model_type", "llava"}, {"text_config", llama->config}}});
    const Json families =
        Json::parse(test::read_text(test::data_path("model_families.json")), nullptr, false);
    for (const auto& [type, family] : families.at("families").items()) {
      if (parse_model(family.at("config").dump(), type)) {
        list.push_back({type, short_of(family.at("config"))});
      }
    }
    return list;
  }();
  return all;
}

/// Where a value lies, and the key by which people know it: of a list's entry, the list's.
struct Place {
  Json::json_pointer pointer;
  std::string key;
};

void list_places(const Json& value, const Json::json_pointer& at, const std::string& key,
                 std::vector<Place>& out) {
  if (!at.empty()) out.push_back({at, key});
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) list_places(inner, at / name, name, out);
  }
  if (!value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i) list_places(value[i], at / i, key, out);
}

std::vector<Place> places_of(const Json& config) {
  std::vector<Place> places;
  list_places(config, Json::json_pointer(), "", places);
  return places;
}

/// The layers that a config says there are; -1: not in a way that is read here.
std::int64_t told_layers(const Json& config) {
  // Of an encoder; of layers of two blocks each; of all runs of a stack.
  for (const char* type : {"t5", "mt5", "umt5", "longcat_flash", "hrm_text"}) {
    if (config.contains("model_type") && config["model_type"] == type) return -1;
  }
  const Json& inner = config.contains("text_config") ? config["text_config"] : config;
  for (const char* key : {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}) {
    if (inner.contains(key) && inner[key].is_number_integer()) return inner[key];
  }
  return -1;
}

/// A model or an error that names the key. @return whether it is a model
bool holds(const NamedConfig& of, const Json& changed, const std::string& key) {
  const Result<Model> model = parse_model(changed.dump(), "config.json");
  const std::string what = of.name + ", " + key + ": " + changed.dump().substr(0, 2000);
  if (!model) {
    EXPECT_EQ(model.error().code, ErrorCode::kBadInput) << what;
    EXPECT_NE(model.error().text().find(key), std::string::npos) << model.error().text() << "\n"
                                                                 << what;
    return false;
  }
  EXPECT_EQ(unsound(*model), "") << what;
  const std::int64_t layers = told_layers(changed);
  if (layers >= 0) {
    EXPECT_EQ(model->layers(), layers) << what;
  }
  return true;
}

TEST(HostileConfig, EveryNumberOfEveryConfigMayBeAnything) {
  std::size_t models = 0, errors = 0;
  for (const NamedConfig& of : configs()) {
    for (const Place& place : places_of(of.config)) {
      if (!of.config[place.pointer].is_number()) continue;
      for (const Json& value : {Json(0), Json(1), Json(-1), Json(-0.0), Json(0.5), Json(1e18),
                                Json(1'000'000'000'000'000'000), Json(1e300), Json("x")}) {
        Json changed = of.config;
        changed[place.pointer] = value;
        ++(holds(of, changed, place.key) ? models : errors);
      }
    }
  }
  EXPECT_GT(models, 1000u);
  EXPECT_GT(errors, 3000u);
}

TEST(HostileConfig, EveryKeyMayBeGoneOrNull) {
  std::size_t models = 0, errors = 0;
  for (const NamedConfig& of : configs()) {
    for (const Place& place : places_of(of.config)) {
      if (of.config[place.pointer.parent_pointer()].is_array()) continue;
      Json gone = of.config, null = of.config;
      gone[place.pointer.parent_pointer()].erase(place.pointer.back());
      null[place.pointer] = nullptr;
      for (const Json& changed : {gone, null}) {
        ++(holds(of, changed, place.key) ? models : errors);
      }
    }
  }
  EXPECT_GT(models, 100u);
  EXPECT_GT(errors, 100u);
}

TEST(HostileConfig, EveryObjectAndListMayBeEmptyOrShorter) {
  for (const NamedConfig& of : configs()) {
    for (const Place& place : places_of(of.config)) {
      const Json& was = of.config[place.pointer];
      if (!was.is_structured()) continue;
      Json changed = of.config;
      changed[place.pointer] = was.is_object() ? Json::object() : Json::array();
      holds(of, changed, place.key);
      if (!was.is_array() || was.empty()) continue;
      changed[place.pointer] = was;
      changed[place.pointer].erase(changed[place.pointer].size() - 1);
      holds(of, changed, place.key);
    }
    EXPECT_FALSE(parse_model("{}", "config.json"));
  }
}

// Whether its reader asks for them or not.
TEST(HostileConfig, ListsOfLayersHaveAnEntryForEach) {
  for (const NamedConfig& of : configs()) {
    if (of.config.contains("text_config")) continue;
    const Result<Model> model = parse_model(of.config.dump(), "config.json");
    ASSERT_TRUE(model) << of.name;
    for (const std::int64_t more : {-1, 1}) {
      Json changed = of.config;
      changed["layer_types"] = std::vector<std::string>(
          static_cast<std::size_t>(model->layers() + more), "full_attention");
      const Result<Model> read = parse_model(changed.dump(), "config.json");
      ASSERT_FALSE(read) << of.name;
      EXPECT_NE(read.error().what.find("layer_types"), std::string::npos) << read.error().what;
    }
  }
}

TEST(HostileConfig, LayersOfAnUnknownKindAreRefused) {
  for (const NamedConfig& of : configs()) {
    if (!of.config.contains("layer_types")) continue;
    Json changed = of.config;
    changed["layer_types"][0] = "no_such_attention";
    const Result<Model> read = parse_model(changed.dump(), "config.json");
    if (read) continue;  // of a family whose layers are all alike
    EXPECT_NE(read.error().what.find("no_such_attention"), std::string::npos) << read.error().what;
  }
}

// A config that says nothing of its own is no Llama 2.
TEST(HostileConfig, NestedConfigsThatTellNoSizeAreRefused) {
  for (const char* type : {"llava", "mistral3", "gemma3", "qwen2_vl", "llama4", "paligemma"}) {
    for (const char* inner : {R"({})", R"({"_name_or_path": "x"})"}) {
      const std::string text =
          R"({"model_type": ")" + std::string(type) + R"(", "text_config": )" + inner + "}";
      const Result<Model> model = parse_model(text, "config.json");
      ASSERT_FALSE(model) << text;
      EXPECT_NE(model.error().what.find("text_config"), std::string::npos) << model.error().what;
    }
  }
}

TEST(HostileConfig, GroupsOfExpertsShareThemOut) {
  const Model deepseek = *load_model("deepseek-v3");
  EXPECT_EQ(deepseek.layer(3).experts.groups, 8);
  const auto deep = std::ranges::find(configs(), "deepseek-v3", &NamedConfig::name);
  for (const auto& [key, value] : {std::pair{"n_group", 0},
                                   {"n_group", 7},
                                   {"n_group", 512},
                                   {"topk_group", 0},
                                   {"topk_group", 9}}) {
    Json changed = deep->config;
    changed[key] = value;
    const Result<Model> model = parse_model(changed.dump(), "config.json");
    ASSERT_FALSE(model) << key << " " << value;
    EXPECT_NE(model.error().what.find(key), std::string::npos) << model.error().what;
  }
}

// Every token sees itself, however few keys are chosen.
TEST(HostileConfig, AnIndexerMayChooseOneKey) {
  const auto sparse = std::ranges::find(configs(), "deepseek-v3.2", &NamedConfig::name);
  ASSERT_NE(sparse, configs().end());
  double before = 0;
  for (const std::int64_t chosen : {1, 2, 3, 64, 2048, 8191}) {
    Json changed = sparse->config;
    changed["index_topk"] = chosen;
    const Result<Model> model = parse_model(changed.dump(), "config.json");
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_EQ(unsound(*model), "") << chosen;
    const double work = training_flops(*model, 8192).attention.value;
    EXPECT_GE(work, before) << chosen;
    before = work;
  }
}

// The inputs that were found to crash, where they are.
TEST(HostileConfig, OfTheProbesEndInAModelOrAnError) {
  FLOPCAST_SHARED_OR_SKIP(folder, "probes/broken");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const Result<Model> model = parse_model(test::read_text(entry.path()), entry.path().string());
    if (model) {
      EXPECT_EQ(unsound(*model), "") << entry.path();
    }
    ++files;
  }
  EXPECT_GT(files, 3u);
}

}  // namespace
}  // namespace flopcast::workload
