// Families of models: every default config that transformers ships against the model that it builds of it, and what
// traits of families mean for layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "workload/model/testing.h"

namespace flopcast::workload {
namespace {

using Json = nlohmann::json;

const Json& transformers_families() {
  static const Json file =
      Json::parse(test::read_text(test::data_path("model_families.json")), nullptr, false);
  return file.at("families");
}

Model read(const Json& config) {
  const Result<Model> model = parse_model(config.dump(), "config.json");
  EXPECT_TRUE(model) << model.error().text() << "\n" << config.dump().substr(0, 500);
  return model ? *model : Model{};
}

std::string refusal(const Json& config) {
  const Result<Model> model = parse_model(config.dump(), "config.json");
  return model ? std::string("read") : model.error().text();
}

/// Of one kind of family: how many are exact, and all.
std::pair<double, double> exact_counts(const std::string& kind) {
  double exact = 0, all = 0;
  for (const auto& [type, family] : transformers_families().items()) {
    if (family.at("kind") != kind) continue;
    ++all;
    const Result<Model> model = parse_model(family.at("config").dump(), type);
    if (!model) continue;
    EXPECT_EQ(unsound(*model), "") << type;
    const std::int64_t counted = count_parameters(*model).total;
    // What is read is right: but for what transformers builds that its makers do not.
    if (type != "longcat_flash") {
      EXPECT_EQ(counted, family.at("parameters").get<std::int64_t>()) << type;
    }
    exact += counted == family.at("parameters").get<std::int64_t>();
  }
  return {exact, all};
}

TEST(Families, NineteenOfTwentyDecodersAreCountedExactly) {
  const auto [exact, all] = exact_counts("decoder");
  EXPECT_GT(all, 120);
  EXPECT_GE(exact / all, 0.95) << exact << " of " << all;
}

TEST(Families, HaveWhatTheirDefaultsHaveNot) {
  const auto [exact, all] = exact_counts("chosen");
  EXPECT_EQ(exact, all);
  EXPECT_GE(all, 20);
}

TEST(Families, EncodersWithADecoderAreCountedExactlyAndNotPriced) {
  const auto [exact, all] = exact_counts("encoder and decoder");
  EXPECT_GE(exact, 13) << "of " << all;
  const Model t5 = read(transformers_families().at("t5").at("config"));
  EXPECT_EQ(t5.encoder.size(), 6u);
  EXPECT_EQ(t5.layers(), 6);
  ASSERT_TRUE(price_problem(t5));
  EXPECT_NE(price_problem(t5)->what.find("encoder"), std::string::npos);
}

// What operators own is what is counted, of every family that has a price.
TEST(Families, OperatorsHoldAllParameters) {
  std::size_t models = 0;
  for (const auto& [type, family] : transformers_families().items()) {
    const Result<Model> model = parse_model(family.at("config").dump(), type);
    if (!model || price_problem(*model)) continue;
    const OperatorGraph graph = make_operators(*model, {});
    std::int64_t total = graph.embedding.weights() + graph.head.weights();
    for (std::size_t kind = 0; kind < graph.layers.size(); ++kind) {
      const std::int64_t layer = graph.layers[kind].weights();
      EXPECT_EQ(layer, layer_parameters(model->kinds[kind], model->hidden)) << type;
      total += layer * model->count(kind);
    }
    EXPECT_EQ(total, count_parameters(*model).total) << type;
    ++models;
  }
  EXPECT_GT(models, 100u);
}

const Json kLlama = {{"hidden_size", 256},       {"intermediate_size", 1024},
                     {"num_hidden_layers", 4},   {"num_attention_heads", 4},
                     {"num_key_value_heads", 2}, {"vocab_size", 1000},
                     {"hidden_act", "silu"},     {"rms_norm_eps", 1e-5},
                     {"rope_theta", 10000.0},    {"tie_word_embeddings", false}};

Json llama_as(const std::string& type) {
  Json config = kLlama;
  config["model_type"] = type;
  return config;
}

TEST(UnknownType, IsReadAsLlamaWhereItHasItsFieldsAndNoOthers) {
  const Model model = read(llama_as("a_new_llama"));
  EXPECT_EQ(model.architecture, "llama");
  ASSERT_EQ(model.notes.size(), 1u);
  EXPECT_NE(model.notes[0].find("'a_new_llama' is not known: read as llama"), std::string::npos);
  EXPECT_EQ(count_parameters(model).total, count_parameters(read(llama_as("llama"))).total);
  EXPECT_TRUE(read(llama_as("llama")).notes.empty());
}

// Apertus under another name would be 10.87 B as a Llama instead of 8.05: its activation gives it away.
TEST(UnknownType, IsRefusedWhereAnythingTellsItFromLlama) {
  for (const auto& [key, value] :
       {std::pair<const char*, Json>{"hidden_act", "xielu"},
        {"hidden_act", "relu2"},
        {"use_qk_norm", true},
        {"attention_out_bias", true},
        {"layer_types",
         Json::array({"full_attention", "full_attention", "full_attention", "sliding_attention"})},
        {"sliding_window", 128}}) {
    Json config = llama_as("a_new_llama");
    config[key] = value;
    const std::string words = refusal(config);
    EXPECT_NE(words.find("is not known"), std::string::npos) << key << ": " << words;
    EXPECT_TRUE(std::string(key) == "hidden_act" || words.find(key) != std::string::npos) << words;
  }
  Json silent = llama_as("a_new_llama");
  silent.erase("hidden_act");
  EXPECT_NE(refusal(silent).find("is not known"), std::string::npos);
}

TEST(UnknownType, IsReadAsItsClassSays) {
  Json config = llama_as("another_name");
  config["architectures"] = {"Qwen3ForCausalLM"};
  config["head_dim"] = 64;
  const Model model = read(config);
  EXPECT_EQ(model.architecture, "qwen3");
  EXPECT_EQ(model.layer(0).attention.qk_norm, 128);
  EXPECT_NE(model.notes.at(0).find("Qwen3ForCausalLM"), std::string::npos);
}

// Of Gemma 3n alone: 2 heads of keys, 15 layers that share them.
TEST(NestedConfigs, HaveTheDefaultsOfTheirClassOrNone) {
  Json config = {{"model_type", "gemma3n"}, {"text_config", {{"vocab_size", 262400}}}};
  const Model model = read(config);
  EXPECT_EQ(count_parameters(model).total, 6'835'235'568);
  EXPECT_EQ(model.layer(0).attention.kv_heads, 2);
  EXPECT_TRUE(model.layer(34).attention.shares_keys);
  Json other = llama_as("apertus1p5_text");
  other.erase("num_key_value_heads");
  EXPECT_NE(refusal({{"model_type", "apertus1p5"}, {"text_config", other}})
                .find("lacks num_key_value_heads"),
            std::string::npos);
}

TEST(Towers, AreToldToBeLeftOut) {
  const Json config = {{"model_type", "llava"},
                       {"text_config", llama_as("llama")},
                       {"vision_config", {{"hidden_size", 1024}}}};
  EXPECT_NE(read(config).notes.at(0).find("without vision_config"), std::string::npos);
}

const Json kIndexed = {
    {"model_type", "glm_moe_dsa"}, {"hidden_size", 256},       {"intermediate_size", 512},
    {"num_hidden_layers", 6},      {"num_attention_heads", 4}, {"vocab_size", 1000},
    {"n_routed_experts", 8},       {"num_experts_per_tok", 2}, {"moe_intermediate_size", 64},
    {"n_shared_experts", 1},       {"q_lora_rank", 64},        {"kv_lora_rank", 64},
    {"qk_rope_head_dim", 16},      {"qk_nope_head_dim", 32},   {"v_head_dim", 32},
    {"index_topk", 128},           {"index_n_heads", 4},       {"index_head_dim", 32},
    {"first_k_dense_replace", 1}};

// GLM-5.2: three of four layers take the keys that the one before chose.
TEST(SharedIndexers, AreNeitherOwnedNorRun) {
  Json shared = kIndexed;
  shared["indexer_types"] = {"full", "full", "shared", "shared", "shared", "full"};
  const Model all = read(kIndexed), few = read(shared);
  EXPECT_EQ(few.layer(0).attention.shares_index, false);
  EXPECT_EQ(few.layer(2).attention.shares_index, true);
  const std::int64_t indexer = 64 * 4 * 32 + 256 * (32 + 4) + 2 * 32;
  EXPECT_EQ(count_parameters(all).total - count_parameters(few).total, 3 * indexer);
  EXPECT_LT(training_flops(few, 4096).attention.value, training_flops(all, 4096).attention.value);
  // The same, as the fields that transformers derives that list from tell it.
  Json derived = kIndexed;
  derived["index_topk_freq"] = 4;
  derived["index_skip_topk_offset"] = 2;
  EXPECT_EQ(count_parameters(read(derived)).total, count_parameters(few).total);
  derived["index_topk_pattern"] = "FFSSSF";
  EXPECT_EQ(count_parameters(read(derived)).total, count_parameters(few).total);
  derived["index_topk_pattern"] = "FFX";
  EXPECT_NE(refusal(derived).find("index_topk_pattern"), std::string::npos);
}

TEST(PerLayerConfig, ChangesItsLayersAlone) {
  Json config = llama_as("exaone4");
  config["per_layer_config"] = {{"01", {{"intermediate_size", 512}}},
                                {"3", {{"num_attention_heads", 2}}}};
  const Model model = read(config);
  EXPECT_EQ(model.layer(0).mlp.intermediate, 1024);
  EXPECT_EQ(model.layer(1).mlp.intermediate, 512);
  EXPECT_EQ(model.layer(3).attention.heads, 2);
  config["per_layer_config"] = {{"4", {{"intermediate_size", 512}}}};
  EXPECT_NE(refusal(config).find("per_layer_config"), std::string::npos);
  config["model_type"] = "llama";  // whose layers are alike
  EXPECT_NE(refusal(config).find("per_layer_config"), std::string::npos);
}

TEST(Hybrids, SayWhichOfTheirLayersAttend) {
  Json config = llama_as("bamba");
  config.update({{"mamba_n_heads", 8},
                 {"mamba_d_head", "auto"},
                 {"mamba_n_groups", 1},
                 {"mamba_d_state", 16},
                 {"mamba_d_conv", 4},
                 {"mamba_expand", 2}});
  EXPECT_EQ(read(config).layer(2).recurrence.value_dim, 64);  // 2 x 256 over 8
  config["attn_layer_indices"] = {2};
  const Model model = read(config);
  EXPECT_EQ(model.layer(1).attention.heads, 0);
  EXPECT_EQ(model.layer(2).attention.heads, 4);
  EXPECT_EQ(model.layer(2).recurrence.heads, 0);
  config["attn_layer_indices"] = {4};
  EXPECT_NE(refusal(config).find("attn_layer_indices"), std::string::npos);
}

TEST(Hybrids, MayHaveAStateBesideAttention) {
  Json config = llama_as("falcon_h1");
  config.update({{"mamba_n_heads", 8},
                 {"mamba_d_head", 16},
                 {"mamba_n_groups", 1},
                 {"mamba_d_state", 16},
                 {"mamba_d_conv", 4}});
  const Model model = read(config);
  ASSERT_EQ(model.kinds.size(), 1u);
  EXPECT_EQ(model.layer(0).attention.heads, 4);
  EXPECT_EQ(model.layer(0).recurrence.heads, 8);
  EXPECT_FALSE(price_problem(model));
}

TEST(Hybrids, WithoutExpertsHaveTheSharedOneAlone) {
  Json config = llama_as("granitemoehybrid");
  config.update({{"mamba_n_heads", 8},
                 {"mamba_d_head", 64},
                 {"mamba_n_groups", 1},
                 {"mamba_d_state", 16},
                 {"mamba_d_conv", 4},
                 {"num_local_experts", 0},
                 {"num_experts_per_tok", 0},
                 {"shared_intermediate_size", 768},
                 {"layer_types", {"mamba", "attention", "mamba", "mamba"}}});
  const Model model = read(config);
  EXPECT_EQ(model.layer(0).mlp.intermediate, 768);
  EXPECT_EQ(model.layer(0).experts.count, 0);
  EXPECT_EQ(model.layer(1).attention.heads, 4);
}

TEST(Experts, OnACompressedStateAreNarrower) {
  Json config = {{"model_type", "nemotron_h"},
                 {"hidden_size", 256},
                 {"vocab_size", 1000},
                 {"layers_block_type", {"moe", "attention"}},
                 {"num_attention_heads", 4},
                 {"n_routed_experts", 8},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 64},
                 {"moe_shared_expert_intermediate_size", 64}};
  const std::int64_t wide = count_parameters(read(config)).total;
  config["moe_latent_size"] = 64;
  // Experts' products of 64 instead of 256, and two products between the two.
  EXPECT_EQ(count_parameters(read(config)).total, wide - 8 * 2 * 64 * (256 - 64) + 2 * 256 * 64);
}

TEST(NotPriced, IsNamed) {
  const auto why = [](const char* type) {
    const auto problem = price_problem(read(transformers_families().at(type).at("config")));
    return problem ? problem->what : std::string();
  };
  EXPECT_NE(why("deepseek_v4").find("compressed sparse attention and several streams"),
            std::string::npos);
  EXPECT_NE(why("gemma3n_text").find("AltUp"), std::string::npos);
  EXPECT_NE(why("zamba2").find("weights layers share"), std::string::npos);
  EXPECT_EQ(why("kimi_linear"), "");
  EXPECT_EQ(why("jamba"), "");
  EXPECT_EQ(why("minimax"), "");
  EXPECT_EQ(why("lfm2"), "");
}

}  // namespace
}  // namespace flopcast::workload
