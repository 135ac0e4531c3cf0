// Models: every built-in against its published count, and configs as people have them.
#include "flopcast/workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "catalog_files.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "workload/model/builtin.h"

namespace flopcast::workload {
namespace {

TEST(BuiltinModels, AreReadFromEveryFileOfTheCatalogue) {
  std::size_t models = 0;
  for (const CatalogFile& file : catalog_files()) {
    if (!file.path.starts_with("models/")) continue;
    const auto read = read_model_file(file.text, std::string(file.path));
    ASSERT_TRUE(read) << read.error().text();
    models += read->size();
  }
  EXPECT_EQ(builtin_models().size(), models);
}

// Counts of config files are exact; those of papers are round numbers.
TEST(BuiltinModels, HaveTheirPublishedParameters) {
  ASSERT_GT(builtin_models().size(), 60u);
  std::size_t exact = 0;
  for (const Model& model : builtin_models()) {
    const std::int64_t total = count_parameters(model).total;
    const std::int64_t published = model.published_parameters;
    if (published % 1'000'000 != 0) {
      ++exact;
      EXPECT_EQ(total, published) << model.name << " by " << total - published;
    } else if (published > 0) {
      const double error = static_cast<double>(total) / static_cast<double>(published) - 1;
      EXPECT_LT(std::abs(error), 0.03) << model.name << " " << total;
    }
  }
  EXPECT_GE(exact, 40u);
}

// "A22B" and "37B activated", as the makers name them.
TEST(BuiltinModels, ActiveParametersOfExperts) {
  const auto active = [](const std::string& name) {
    return static_cast<double>(count_parameters(*load_model(name)).active) / 1e9;
  };
  EXPECT_NEAR(active("qwen3-235b-a22b"), 22, 0.5);
  EXPECT_NEAR(active("qwen3-30b-a3b"), 3.3, 0.1);
  EXPECT_NEAR(active("deepseek-v3"), 37.5, 0.5);
  EXPECT_NEAR(active("deepseek-v2"), 21.4, 0.3);
  EXPECT_NEAR(active("mixtral-8x7b"), 12.9, 0.1);
  EXPECT_NEAR(active("gpt-oss-120b"), 5.7, 0.2);
  EXPECT_NEAR(active("llama-4-maverick"), 17, 0.5);
}

TEST(BuiltinModels, AreFoundAsPeopleWriteThem) {
  for (const char* name : {"llama-3-70b", "meta-llama-3-70b", "Llama3 70B", "LLAMA_3_70B",
                           "meta-llama/Meta-Llama-3-70B"}) {
    const Result<Model> model = load_model(name);
    ASSERT_TRUE(model) << name;
    EXPECT_EQ(model->name, "llama-3-70b");
    EXPECT_FALSE(model->source.empty());
  }
}

TEST(BuiltinModels, UnknownNameListsNearOnes) {
  const Result<Model> model = load_model("llama-3-71b");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kUsage);
  EXPECT_NE(model.error().hint.find("llama-3-70b"), std::string::npos) << model.error().hint;
}

TEST(BuiltinModels, EntryWithoutSourceIsRefused) {
  const auto read = [](const char* text) { return read_model_file(text, "x.toml"); };
  EXPECT_FALSE(read("[model.a]\nsource = 'none'\n[model.a.config]\nmodel_type = 'llama'\n"));
  EXPECT_FALSE(read("[model.a.config]\nmodel_type = 'llama'\n"));
  EXPECT_FALSE(read("[sources]\ns = 'x'\n[model.a]\nsource = 's'\n"));
  EXPECT_FALSE(read("model = 3\n"));
  EXPECT_FALSE(read("[model"));
}

constexpr const char* kLlama8b = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "rope_scaling": {"factor": 8.0}, "tie_word_embeddings": false, "vocab_size": 128256})";

nlohmann::json llama_json() { return nlohmann::json::parse(kLlama8b); }

TEST(Config, Llama) {
  const Result<Model> model = parse_model(kLlama8b, "config.json");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(count_parameters(*model).total, 8'030'261'248);
  EXPECT_EQ(model->kinds.size(), 1u);
  EXPECT_EQ(model->layers(), 32);
  EXPECT_EQ(model->layer(31).attention.kv_heads, 8);
}

TEST(Config, TypeFromTheClassWhereModelTypeIsMissing) {
  nlohmann::json config = llama_json();
  config.erase("model_type");
  const Result<Model> model = parse_model(config.dump(), "config.json");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->architecture, "llama");
}

TEST(Config, LanguageModelOfAMultimodalConfig) {
  const nlohmann::json config = {{"model_type", "llava"},
                                 {"vision_config", {{"hidden_size", 1024}}},
                                 {"text_config", llama_json()}};
  const Result<Model> model = parse_model(config.dump(), "config.json");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->hidden, 4096);
}

TEST(Config, MissingFieldsAreAllNamed) {
  nlohmann::json config = llama_json();
  config.erase("hidden_size");
  config.erase("intermediate_size");
  const Result<Model> model = parse_model(config.dump(), "my/config.json");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().where, "my/config.json");
  EXPECT_NE(model.error().what.find("hidden_size"), std::string::npos);
  EXPECT_NE(model.error().what.find("intermediate_size"), std::string::npos);
}

TEST(Config, UnknownArchitectureSaysWhatItLacks) {
  const Result<Model> model =
      parse_model(R"({"model_type": "mamba", "hidden_size": 768, "vocab_size": 50280})", "c");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().what.find("'mamba' is not known"), std::string::npos);
  EXPECT_NE(model.error().what.find("num_attention_heads"), std::string::npos);
  EXPECT_EQ(model.error().what.find("hidden_size"), std::string::npos);
  nlohmann::json like = llama_json();
  like["model_type"] = "solar";
  const Result<Model> solar = parse_model(like.dump(), "c");
  ASSERT_FALSE(solar);
  EXPECT_NE(solar.error().what.find("it has the fields of llama"), std::string::npos);
}

TEST(Config, SenselessValuesAreRefused) {
  const auto refused = [](const char* key, const nlohmann::json& value, const char* words) {
    nlohmann::json config = llama_json();
    config[key] = value;
    const Result<Model> model = parse_model(config.dump(), "c");
    ASSERT_FALSE(model) << key;
    EXPECT_NE(model.error().what.find(words), std::string::npos) << model.error().what;
  };
  refused("hidden_size", "4096", "hidden_size: expected a whole number");
  refused("hidden_size", -1, "found -1");
  refused("num_hidden_layers", 1e300, "num_hidden_layers");
  refused("num_hidden_layers", 1.5, "num_hidden_layers");
  refused("num_key_value_heads", 5, "must divide");
  refused("num_key_value_heads", 0, "must divide");
  refused("tie_word_embeddings", 1, "true or false");
  for (const char* text : {"", "[]", "3", "{", "{\"model_type\": 3}", "{}"}) {
    EXPECT_FALSE(parse_model(text, "c")) << text;
  }
}

TEST(Config, SizesBeyondCountingAreRefused) {
  const Result<Model> model = parse_model(
      R"({"model_type": "mixtral", "hidden_size": 1048576, "intermediate_size": 1048576,
          "num_local_experts": 16384, "num_experts_per_tok": 1, "num_hidden_layers": 16384,
          "num_attention_heads": 64, "vocab_size": 1000})",
      "c");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().what.find("parameters"), std::string::npos);
}

TEST(Config, KindsOfLayers) {
  const auto kinds = [](const char* name) { return load_model(name)->kinds.size(); };
  EXPECT_EQ(kinds("gemma-2-27b"), 2u);       // windowed and full
  EXPECT_EQ(kinds("gpt-oss-120b"), 2u);      // windowed and full
  EXPECT_EQ(kinds("deepseek-v3"), 2u);       // dense and experts
  EXPECT_EQ(kinds("llama-4-scout"), 2u);     // chunked and full
  EXPECT_EQ(kinds("llama-4-maverick"), 3u);  // dense chunked, experts chunked, experts full
  const Model gemma = *load_model("gemma-3-1b");
  EXPECT_EQ(gemma.layer(4).attention.window, 512);
  EXPECT_EQ(gemma.layer(5).attention.window, 0);
  const Model deepseek = *load_model("deepseek-v3");
  EXPECT_EQ(deepseek.layer(2).experts.count, 0);
  EXPECT_EQ(deepseek.layer(3).experts.count, 256);
  EXPECT_EQ(deepseek.count(1), 58);
}

TEST(Config, QwenDenseLayersAmongExperts) {
  nlohmann::json config = {
      {"model_type", "qwen3_moe"}, {"hidden_size", 64},        {"intermediate_size", 256},
      {"num_hidden_layers", 4},    {"num_attention_heads", 4}, {"vocab_size", 100},
      {"num_experts", 8},          {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32},
      {"decoder_sparse_step", 2},  {"mlp_only_layers", {3}}};
  const Result<Model> model = parse_model(config.dump(), "c");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->layer(0).experts.count, 0);
  EXPECT_EQ(model->layer(1).experts.count, 8);
  EXPECT_EQ(model->layer(3).experts.count, 0);
}

// Descriptions of measured runs: every model there can be built, with the parameters stated there.
TEST(RunDescription, EveryMeasuredModelIsBuilt) {
  const nlohmann::json file =
      nlohmann::json::parse(test::read_text(test::data_path("training.json")), nullptr, false);
  ASSERT_TRUE(file.is_object());
  std::size_t built = 0;
  for (const nlohmann::json& run : file["cases"]) {
    const nlohmann::json& shape = run["model"];
    const Result<Model> model = parse_model(shape.dump(), run["id"].get<std::string>());
    if (!shape.contains("layers")) {
      ASSERT_FALSE(model);
      EXPECT_NE(model.error().what.find("num_hidden_layers"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(model) << model.error().text();
    ++built;
    if (shape.contains("attn")) continue;  // stated there with another count of its attention
    // Counted there without position tables and biases, to two decimals.
    const std::int64_t positions = model->learned_positions * model->hidden;
    const double total = static_cast<double>(count_parameters(*model).total - positions) / 1e9;
    const double stated = run["params_b"].get<double>();
    EXPECT_NEAR(total, stated, 0.003 * stated + 0.006) << shape.dump();
  }
  EXPECT_GT(built, 500u);
}

}  // namespace
}  // namespace flopcast::workload
