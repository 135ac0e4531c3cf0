// Models: every built-in against its published count, and configs as people have them.
#include "flopcast/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// Families read from a table of traits, and decoders that do not attend to everything: each within one
// percent of what its maker states, most of them to the last parameter.
TEST(BuiltinModels, OfTableFamiliesAndHybridsAreWithinOnePercent) {
  std::size_t models = 0;
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != "models/families.toml" && file.path != "models/hybrid.toml") continue;
    const auto read = read_model_file(file.text, std::string(file.path));
    ASSERT_TRUE(read) << read.error().text();
    for (const BuiltinModel& builtin : *read) {
      const auto total = static_cast<double>(count_parameters(builtin.model).total);
      const auto published = static_cast<double>(builtin.model.published_parameters);
      EXPECT_NEAR(total / published, 1, 0.01) << builtin.model.name;
      ++models;
    }
  }
  EXPECT_GE(models, 36u);
}

TEST(BuiltinModels, CoverTheFamiliesThatPeopleHave) {
  for (const char* type :
       {"qwen2_5_vl", "qwen3_vl_text", "glm4_moe",   "deepseek_v32", "glm_moe_dsa", "minimax_m2",
        "qwen3_next", "qwen3_5_text",  "nemotron_h", "gemma4_text",  "qwen",        "chatglm",
        "cohere",     "dbrx",          "phimoe",     "internlm2",    "gpt_bigcode", "olmo2",
        "falcon",     "opt",           "starcoder2"}) {
    EXPECT_TRUE(std::ranges::any_of(builtin_models(), [&](const Model& model) {
      return model.architecture == type && model.published_parameters > 0;
    })) << type;
  }
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
  EXPECT_NEAR(active("qwen3.5-397b-a17b"), 17, 0.5);
  EXPECT_NEAR(active("gemma-4-26b-a4b"), 3.8, 0.1);
  EXPECT_NEAR(active("minimax-m2"), 10, 1.1);
  EXPECT_NEAR(active("deepseek-v3.2"), 38.4, 0.5);  // 37.5 and the indexers
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

std::int64_t parameters_of(const std::string& config) {
  const Result<Model> model = parse_model(config, "config.json");
  EXPECT_TRUE(model) << model.error().text();
  return model ? count_parameters(*model).total : 0;
}

// What transformers writes: of a nested config only what differs from its class.
TEST(Config, NestedConfigsLeaveOutTheDefaultsOfTheirClass) {
  // llava-hf/llava-1.5-7b-hf: Llama 2 7B and 64 more tokens.
  EXPECT_EQ(parameters_of(R"({"model_type": "llava", "vision_config": {"hidden_size": 1024},
      "text_config": {"model_type": "llama", "max_position_embeddings": 4096,
                      "vocab_size": 32064}})"),
            6'738'415'616 + 2 * 64 * 4096);
  // google/gemma-3-4b-it: no vocabulary and no heads; 64 tokens for images.
  EXPECT_EQ(parameters_of(R"({"model_type": "gemma3",
      "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
                      "model_type": "gemma3_text", "sliding_window": 1024}})"),
            3'880'263'168);
  // Qwen/Qwen2-Audio-7B: as large as Qwen 7B, with 156,032 tokens.
  EXPECT_NEAR(static_cast<double>(parameters_of(R"({"model_type": "qwen2_audio",
      "text_config": {"model_type": "qwen2", "intermediate_size": 11008, "vocab_size": 156032,
                      "max_position_embeddings": 8192}})")),
              7.755e9, 0.005e9);
  // Without a type inside, the type outside tells it.
  EXPECT_EQ(parameters_of(R"({"model_type": "llava", "text_config": {"vocab_size": 32000}})"),
            6'738'415'616);
}

TEST(Config, NestedConfigsTieEmbeddingsAsTheFileDoes) {
  const char* text = R"({"model_type": "qwen3_vl", "tie_word_embeddings": true,
      "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 2048, "head_dim": 128,
                      "num_hidden_layers": 28, "num_attention_heads": 16,
                      "num_key_value_heads": 8, "intermediate_size": 6144}})";
  EXPECT_EQ(parameters_of(text), 1'720'574'976);  // Qwen3 1.7B
}

// A config that stands alone has all its fields: what is missing was lost.
TEST(Config, DefaultsAreOfNestedConfigsAlone) {
  EXPECT_FALSE(parse_model(R"({"model_type": "llama", "vocab_size": 32000})", "c"));
  // null is a value, not a field left out.
  const Result<Model> model = parse_model(R"({"model_type": "mistral3",
      "text_config": {"model_type": "mistral", "sliding_window": null}})",
                                          "c");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->layer(0).attention.window, 0);
}

TEST(Config, NumbersAsPythonWritesThem) {
  nlohmann::json config = llama_json();
  config["note"] = R"(NaN and "Infinity" stay \ in texts)";
  std::string text = config.dump();
  text.insert(1, R"("time_step_limit": [0.0, Infinity], "limit": -Infinity, "gap": NaN,)");
  EXPECT_EQ(parameters_of(text), 8'030'261'248);
  // As a size it is as good as missing.
  text.replace(text.find("4096"), 4, "NaN");
  const Result<Model> model = parse_model(text, "c");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().what.find("hidden_size"), std::string::npos) << model.error().what;
}

TEST(Config, NoSharedExpertIsZeroWide) {
  nlohmann::json config = {{"model_type", "qwen2_moe"},
                           {"hidden_size", 64},
                           {"intermediate_size", 256},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"vocab_size", 100},
                           {"num_experts", 8},
                           {"num_experts_per_tok", 2},
                           {"moe_intermediate_size", 32},
                           {"shared_expert_intermediate_size", 0}};
  const Result<Model> model = parse_model(config.dump(), "c");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->layer(0).experts.shared.intermediate, 0);
  EXPECT_FALSE(model->layer(0).experts.shared_gate);
  config.erase("shared_expert_intermediate_size");
  EXPECT_FALSE(parse_model(config.dump(), "c"));
}

// A dense reader would take MiniMax-M2.5 for 4.8 B and DeepSeek-V3.2 for 38.6 B parameters.
TEST(Config, NobodyIsToldToReadExpertsAsDense) {
  struct Case {
    const char *key, *words, *type;
  };
  for (const Case& c :
       {Case{"num_local_experts", "experts (num_local_experts)", "mixtral"},
        Case{"n_routed_experts", "experts (n_routed_experts)", "glm4_moe"},
        Case{"kv_lora_rank", "latent attention (kv_lora_rank)", "deepseek_v3"},
        Case{"index_topk", "sparse attention (index_topk)", "deepseek_v32"},
        Case{"mamba_num_heads", "recurrent layers (mamba_num_heads)", "nemotron_h"}}) {
    for (const char* type : {"another_new_one", "llama", "qwen3"}) {
      nlohmann::json config = llama_json();
      config["model_type"] = type;
      config[c.key] = 64;
      const Result<Model> model = parse_model(config.dump(), "c");
      ASSERT_FALSE(model) << c.key;
      EXPECT_NE(model.error().what.find(c.words), std::string::npos) << model.error().what;
      EXPECT_EQ(model.error().what.find("has the fields of llama"), std::string::npos);
      EXPECT_NE(model.error().hint.find(c.type), std::string::npos) << model.error().hint;
      EXPECT_EQ(model.error().hint.find("llama,"), std::string::npos) << model.error().hint;
    }
  }
  nlohmann::json dense = llama_json();
  dense["num_experts"] = 0;
  EXPECT_TRUE(parse_model(dense.dump(), "c"));
}

TEST(Config, HybridsHaveTheirBlocksInOrder) {
  const Model next = *load_model("qwen3-next-80b-a3b");
  EXPECT_EQ(next.layer(2).recurrence.heads, 32);
  EXPECT_EQ(next.layer(2).attention.heads, 0);
  EXPECT_TRUE(next.layer(3).attention.output_gate);
  EXPECT_EQ(next.count(0), 36);
  const Model nemotron = *load_model("nemotron-h-8b");
  EXPECT_EQ(nemotron.kinds.size(), 3u);
  EXPECT_TRUE(nemotron.layer(0).mixes_tokens());
  EXPECT_FALSE(nemotron.layer(0).feeds_forward());
  EXPECT_FALSE(nemotron.layer(1).mixes_tokens());
  EXPECT_EQ(nemotron.layer(7).attention.heads, 32);
  // The same as a list of words.
  const Result<Model> words = parse_model(R"({"model_type": "nemotron_h", "hidden_size": 64,
      "num_hidden_layers": 3, "vocab_size": 100, "num_attention_heads": 4, "intermediate_size": 128,
      "mamba_num_heads": 8, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 16,
      "conv_kernel": 4, "layers_block_type": ["mamba", "mlp", "attention"]})",
                                          "c");
  ASSERT_TRUE(words) << words.error().text();
  EXPECT_EQ(words->layer(0).recurrence.heads, 8);
  EXPECT_EQ(words->layer(1).mlp.intermediate, 128);
  EXPECT_EQ(words->layer(2).attention.heads, 4);
}

TEST(Config, WhatAFamilyCannotHaveIsSaid) {
  const auto what = [](const std::string& model, const char* key, const nlohmann::json& value) {
    nlohmann::json config = nlohmann::json::parse(model);
    config[key] = value;
    const Result<Model> read = parse_model(config.dump(), "c");
    return read ? std::string("read") : read.error().what;
  };
  const std::string nemotron = R"({"model_type": "nemotron_h", "hidden_size": 64,
      "num_hidden_layers": 2, "vocab_size": 100, "num_attention_heads": 4})";
  EXPECT_NE(what(nemotron, "hybrid_override_pattern", "M").find("a letter for each"),
            std::string::npos);
  EXPECT_NE(what(nemotron, "hybrid_override_pattern", "MX").find("expected M"), std::string::npos);
  EXPECT_NE(what(nemotron, "hybrid_override_pattern", "M*").find("mamba_num_heads"),
            std::string::npos);
  const std::string gemma = R"({"model_type": "gemma4_text", "hidden_size": 64, "vocab_size": 100,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128})";
  EXPECT_NE(what(gemma, "hidden_size_per_layer_input", -1).find("hidden_size_per_layer_input"),
            std::string::npos);
  EXPECT_EQ(what(gemma, "hidden_size_per_layer_input", 0), "read");
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
      parse_model(R"({"model_type": "hyena", "hidden_size": 768, "vocab_size": 50280})", "c");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().what.find("'hyena' is not known"), std::string::npos);
  EXPECT_NE(model.error().what.find("num_attention_heads"), std::string::npos);
  EXPECT_EQ(model.error().what.find("hidden_size"), std::string::npos);
  nlohmann::json like = llama_json();
  like["model_type"] = "solar";
  like.erase("architectures");
  like["use_conv_gate"] = true;
  const Result<Model> solar = parse_model(like.dump(), "c");
  ASSERT_FALSE(solar);
  EXPECT_NE(solar.error().what.find("it has the fields of llama and use_conv_gate"),
            std::string::npos);
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
