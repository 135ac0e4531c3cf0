// What checkpoints say of the types of their weights, as their makers write it.
#include "workload/checkpoint/stored.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/temporary_folder.h"

namespace flopcast::workload {
namespace {

using Json = nlohmann::json;

const Json kDense = {{"model_type", "llama"},     {"hidden_size", 256},
                     {"intermediate_size", 1024}, {"num_hidden_layers", 12},
                     {"num_attention_heads", 4},  {"num_key_value_heads", 2},
                     {"vocab_size", 1000}};
const Json kExpertsConfig = {
    {"model_type", "deepseek_v3"}, {"hidden_size", 256},       {"intermediate_size", 1024},
    {"num_hidden_layers", 12},     {"num_attention_heads", 4}, {"vocab_size", 1000},
    {"n_routed_experts", 8},       {"num_experts_per_tok", 2}, {"moe_intermediate_size", 128},
    {"n_shared_experts", 1},       {"q_lora_rank", 64},        {"kv_lora_rank", 64},
    {"qk_rope_head_dim", 16},      {"qk_nope_head_dim", 32},   {"v_head_dim", 32},
    {"first_k_dense_replace", 1}};

StoredPrecision stored(Json config, const Json& quantisation) {
  config["quantization_config"] = quantisation;
  const Result<Model> model = parse_model(config.dump(), "config.json");
  EXPECT_TRUE(model) << model.error().text();
  return model ? model->stored : StoredPrecision{};
}

TEST(Stored, SixteenBitsWhereNothingIsSaid) {
  const StoredPrecision plain = stored(kDense, Json::object());
  EXPECT_FALSE(plain.quantised());
  EXPECT_EQ(plain, StoredPrecision{});
}

TEST(Stored, BlocksOfEightBits) {
  const Json fp8 = {{"quant_method", "fp8"},
                    {"fmt", "e4m3"},
                    {"activation_scheme", "dynamic"},
                    {"weight_block_size", {128, 128}}};
  const StoredPrecision dense = stored(kDense, fp8);
  EXPECT_EQ(dense.method, "fp8");
  EXPECT_EQ(dense.unread, "");
  EXPECT_EQ(dense.attention, GemmType::kFp8Block);
  EXPECT_EQ(dense.dense, GemmType::kFp8Block);
  EXPECT_EQ(dense.experts, GemmType::kBf16);  // there are none
  EXPECT_EQ(dense.head, DataType::kBf16);
  EXPECT_FALSE(dense.kv_cache);
  EXPECT_EQ(stored(kExpertsConfig, fp8).experts, GemmType::kFp8Block);
  Json other = fp8;
  other["weight_block_size"] = {64, 64};
  EXPECT_NE(stored(kDense, other).unread.find("[64,64]"), std::string::npos);
  other.erase("weight_block_size");
  EXPECT_EQ(stored(kDense, other).dense, GemmType::kFp8);
  other["activation_scheme"] = "static";
  EXPECT_EQ(stored(kDense, other).dense, GemmType::kFp8Static);
}

TEST(Stored, ModulesLeftOutKeepSixteenBits) {
  Json fp8 = {{"quant_method", "fp8"}, {"modules_to_not_convert", {"lm_head", "self_attn"}}};
  StoredPrecision s = stored(kDense, fp8);
  EXPECT_EQ(s.attention, GemmType::kBf16);
  EXPECT_EQ(s.dense, GemmType::kFp8);
  EXPECT_TRUE(s.mixed.empty());
  fp8["modules_to_not_convert"] = {"model.layers.1.mlp", "model.layers.1.self_attn.q_proj"};
  s = stored(kDense, fp8);
  EXPECT_EQ(s.attention, GemmType::kFp8);
  EXPECT_EQ(s.dense, GemmType::kFp8);
  EXPECT_EQ(s.mixed, (std::vector<std::string>{"attention", "dense"}));
  // Layer 1 is not layer 11, and a gate that routes is no gate of a feed-forward.
  Json one = kDense;
  one["num_hidden_layers"] = 1;
  fp8["modules_to_not_convert"] = {"model.layers.11.mlp", "mlp.gate"};
  s = stored(one, fp8);
  EXPECT_EQ(s.dense, GemmType::kFp8);
  EXPECT_TRUE(s.mixed.empty());
}

// GPT-OSS: experts alone, whatever the list of the others says.
TEST(Stored, MxFourIsOfExperts) {
  const StoredPrecision s = stored(kExpertsConfig, {{"quant_method", "mxfp4"}});
  EXPECT_EQ(s.experts, GemmType::kMxfp4Weight);
  EXPECT_EQ(s.attention, GemmType::kBf16);
  EXPECT_EQ(s.dense, GemmType::kBf16);
}

Json int4_group() {
  return {
      {"targets", {"Linear"}},
      {"input_activations", nullptr},
      {"weights", {{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}}}};
}

// Kimi-K2-Thinking's way.
TEST(Stored, CompressedTensorsOfExpertsAlone) {
  const Json config = {{"quant_method", "compressed-tensors"},
                       {"format", "pack-quantized"},
                       {"config_groups", {{"group_0", int4_group()}}},
                       {"ignore",
                        {"lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                         R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)"}},
                       {"kv_cache_scheme", nullptr}};
  const StoredPrecision s = stored(kExpertsConfig, config);
  EXPECT_EQ(s.unread, "");
  EXPECT_EQ(s.experts, GemmType::kInt4WeightOnly);
  EXPECT_EQ(s.attention, GemmType::kBf16);
  EXPECT_EQ(s.dense, GemmType::kBf16);
  EXPECT_FALSE(s.kv_cache);
}

TEST(Stored, CompressedTensorsInGroups) {
  Json config = {
      {"quant_method", "compressed-tensors"},
      {"config_groups",
       {{"group_0",
         {{"targets", {"re:.*self_attn.*"}},
          {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}}},
          {"input_activations", {{"num_bits", 8}, {"type", "float"}, {"dynamic", true}}}}},
        {"group_1",
         {{"targets", {"Linear"}},
          {"weights", {{"num_bits", 4}, {"type", "float"}, {"group_size", 16}}},
          {"input_activations", {{"num_bits", 4}, {"type", "float"}}}}}}},
      {"kv_cache_scheme", {{"num_bits", 8}, {"type", "float"}}}};
  StoredPrecision s = stored(kExpertsConfig, config);
  EXPECT_EQ(s.attention, GemmType::kFp8);
  EXPECT_EQ(s.dense, GemmType::kNvfp4);
  EXPECT_EQ(s.experts, GemmType::kNvfp4);
  EXPECT_EQ(s.kv_cache, DataType::kFp8);
  config["config_groups"]["group_1"]["weights"]["num_bits"] = 3;
  s = stored(kExpertsConfig, config);
  EXPECT_NE(s.unread.find("group_1"), std::string::npos) << s.unread;
  EXPECT_EQ(s.experts, GemmType::kBf16);
}

TEST(Stored, PatternsThatAreNotUnderstoodAreTold) {
  Json config = {{"quant_method", "compressed-tensors"},
                 {"config_groups", {{"group_0", int4_group()}}},
                 {"ignore", {"re:(?!mlp).*"}}};
  EXPECT_NE(stored(kDense, config).unread.find("(?!mlp)"), std::string::npos);
  config["ignore"] = {"lm_head"};
  EXPECT_EQ(stored(kDense, config).dense, GemmType::kInt4WeightOnly);
}

TEST(Stored, WeightsOfFewBits) {
  EXPECT_EQ(stored(kDense, {{"quant_method", "awq"}, {"bits", 4}}).dense,
            GemmType::kInt4WeightOnly);
  EXPECT_EQ(stored(kDense, {{"quant_method", "gptq"}, {"bits", 8}}).dense,
            GemmType::kInt8WeightOnly);
  EXPECT_NE(stored(kDense, {{"quant_method", "gptq"}, {"bits", 3}}).unread, "");
}

// Never 16 bits without a word.
TEST(Stored, WhatIsNotKnownIsTold) {
  for (const Json& config :
       {Json{{"quant_method", "aqlm"}}, Json{{"bits", 4}},
        Json{{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}},
        Json{{"quant_method", "compressed-tensors"}}, Json{{"quant_method", "modelopt"}},
        Json{{"quant_method", "quark"}}, Json{{"quant_algo", "FP2"}}}) {
    const StoredPrecision s = stored(kDense, config);
    EXPECT_TRUE(s.quantised()) << config;
    EXPECT_NE(s.unread, "") << config;
  }
}

TEST(Stored, OfAModelInsideAnother) {
  const Json config = {{"model_type", "llava"},
                       {"text_config", kDense},
                       {"quantization_config", {{"quant_method", "fp8"}}}};
  EXPECT_EQ(parse_model(config.dump(), "c")->stored.dense, GemmType::kFp8);
}

class ModelOptFile : public testing::Test {
 protected:
  Result<Model> load(const Json& config, const std::string& beside) {
    std::ofstream(folder_.path() / "config.json") << config.dump();
    std::ofstream(folder_.path() / "hf_quant_config.json") << beside;
    return load_model(folder_.path().string());
  }
  test::TemporaryFolder folder_;
};

const Json kModelOpt = {
    {"producer", {{"name", "modelopt"}}},
    {"quantization",
     {{"quant_algo", "NVFP4"},
      {"kv_cache_quant_algo", "FP8"},
      {"group_size", 16},
      {"exclude_modules", {"lm_head", "*self_attn*", "model.layers.0.mlp*", "*.mlp.gate"}}}}};

TEST_F(ModelOptFile, IsReadBesideTheConfig) {
  const Result<Model> model = load(kExpertsConfig, kModelOpt.dump());
  ASSERT_TRUE(model) << model.error().text();
  const StoredPrecision& s = model->stored;
  EXPECT_EQ(s.method, "modelopt");
  EXPECT_EQ(s.unread, "");
  EXPECT_EQ(s.experts, GemmType::kNvfp4);
  EXPECT_EQ(s.attention, GemmType::kBf16);
  EXPECT_EQ(s.kv_cache, DataType::kFp8);
  // 11 shared experts of 128 in 4 bits, one dense layer of 1024 in 16.
  EXPECT_EQ(s.dense, GemmType::kNvfp4);
  EXPECT_EQ(s.mixed, std::vector<std::string>{"dense"});
}

TEST_F(ModelOptFile, TellsEveryModuleWhereTheyDiffer) {
  Json layers = Json::object();
  for (int i = 0; i < 12; ++i) {
    const std::string at = "model.layers." + std::to_string(i);
    layers[at + ".self_attn"] = {{"quant_algo", "FP8"}};
    layers[at + ".mlp.experts"] = {{"quant_algo", "NVFP4"}};
  }
  Json file = {{"quantization", {{"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", layers}}}};
  const StoredPrecision s = load(kExpertsConfig, file.dump())->stored;
  EXPECT_EQ(s.attention, GemmType::kFp8Static);
  EXPECT_EQ(s.experts, GemmType::kNvfp4);
  EXPECT_EQ(s.dense, GemmType::kBf16);
  file["quantization"]["quantized_layers"]["model.layers.0.mlp"] = {{"quant_algo", "X2"}};
  EXPECT_NE(load(kExpertsConfig, file.dump())->stored.unread.find("X2"), std::string::npos);
}

TEST_F(ModelOptFile, TheConfigComesFirst) {
  Json config = kDense;
  config["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_EQ(load(config, kModelOpt.dump())->stored.method, "fp8");
}

TEST_F(ModelOptFile, DamagedIsAnError) {
  const Result<Model> model = load(kDense, "{");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().where.find("hf_quant_config.json"), std::string::npos);
}

}  // namespace
}  // namespace flopcast::workload
