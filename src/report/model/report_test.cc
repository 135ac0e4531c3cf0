#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flopcast/report/model.h"

namespace flopcast {
namespace {

TEST(ModelReport, ListsEveryModelAndWorkloadOnce) {
  const DataflowWorkload dlrm = *load_dataflow("dlrm");
  const std::string text = model_list_text(builtin_models(), {&dlrm, 1});
  for (const Model& model : builtin_models()) {
    EXPECT_NE(text.find("\n  " + model.name + "  "), std::string::npos) << model.name;
  }
  EXPECT_NE(text.find("\n  " + dlrm.graph.name + "  "), std::string::npos);
  const auto json = nlohmann::json::parse(model_list_json(builtin_models(), {&dlrm, 1}));
  EXPECT_EQ(json.at("models").size(), builtin_models().size());
  EXPECT_EQ(json.at("workloads").at(0).at("kernels").size(), dlrm.graph.kernels.size());
}

TEST(ModelReport, ParametersOfTheKindsAddUpToTheTotal) {
  const auto json = nlohmann::json::parse(model_list_json(builtin_models(), {}));
  for (const auto& model : json.at("models")) {
    const auto& parameters = model.at("parameters");
    auto sum =
        parameters.at("embedding").get<std::int64_t>() + parameters.at("head").get<std::int64_t>();
    for (const auto& kind : model.at("layers")) {
      sum += kind.at("count").get<std::int64_t>() * kind.at("parameters").get<std::int64_t>();
    }
    EXPECT_EQ(sum, parameters.at("total")) << model.at("name");
  }
}

TEST(ModelReport, ShowsExpertsAndLatentAttention) {
  const std::string text = model_text(*load_model("deepseek-v3"));
  EXPECT_NE(text.find("deepseek-v3: deepseek_v3, 671 B parameters\n"), std::string::npos) << text;
  EXPECT_NE(text.find("8 of 256 experts of 2048 gated, one shared of 2048 gated"),
            std::string::npos);
  EXPECT_NE(text.find("latent of rank 512"), std::string::npos);
  EXPECT_NE(model_text(*load_model("gemma-3-1b")).find("gemma3_text, 999.9 M parameters"),
            std::string::npos);
}

TEST(ModelReport, ShowsRecurrencesAndSparseAttention) {
  const std::string next = model_text(*load_model("qwen3-next-80b-a3b"));
  EXPECT_NE(next.find("gated delta rule, 32 heads with a state of 128 x 128"), std::string::npos)
      << next;
  const std::string nemotron = model_text(*load_model("nemotron-h-8b"));
  EXPECT_NE(nemotron.find("state space, 128 heads with a state of 128 x 64"), std::string::npos);
  EXPECT_NE(nemotron.find("\n      24  none  "), std::string::npos) << nemotron;
  EXPECT_NE(model_text(*load_model("deepseek-v3.2")).find("to the best 2048 tokens"),
            std::string::npos);
  const Model model = *load_model("nemotron-h-8b");
  const auto json = nlohmann::json::parse(model_list_json({&model, 1}, {}));
  const auto& layers = json.at("models").at(0).at("layers");
  EXPECT_EQ(layers.at(0).at("recurrence").at("kind"), "state_space");
  EXPECT_FALSE(layers.at(1).contains("recurrence"));
}

Model read(const std::string& config) {
  const Result<Model> model = parse_model(config, "config.json");
  EXPECT_TRUE(model) << model.error().text();
  return model ? *model : Model{};
}

constexpr const char* kLlama =
    R"("hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "vocab_size": 100, "hidden_act": "silu", "rms_norm_eps": 1e-5)";

TEST(ModelReport, TellsWhatWasTakenAndWhatWeightsAreStoredIn) {
  const Model model = read(std::string("{") + kLlama + R"(, "model_type": "another",
      "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  const std::string text = model_text(model);
  EXPECT_NE(text.find("the type 'another' is not known: read as llama"), std::string::npos) << text;
  EXPECT_NE(text.find("fp8: attention fp8_block, feed-forwards fp8_block"), std::string::npos);
  const auto json = nlohmann::json::parse(model_list_json({&model, 1}, {})).at("models").at(0);
  EXPECT_EQ(json.at("stored").at("dense"), "fp8_block");
  EXPECT_EQ(json.at("notes").size(), 1u);
  const Model plain = *load_model("llama-3-8b");
  EXPECT_FALSE(nlohmann::json::parse(model_list_json({&plain, 1}, {}))
                   .at("models")
                   .at(0)
                   .contains("stored"));
}

TEST(ModelReport, NamesPartsWithoutAPrice) {
  const Model t5 =
      read(R"({"model_type": "t5", "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 3,
      "num_heads": 4, "vocab_size": 100})");
  const std::string text = model_text(t5);
  EXPECT_NE(text.find("not priced"), std::string::npos) << text;
  EXPECT_NE(text.find("3 before"), std::string::npos) << text;
  EXPECT_NE(text.find("and to an encoder"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(model_list_json({&t5, 1}, {})).at("models").at(0);
  EXPECT_EQ(json.at("unpriced").size(), 1u);
  EXPECT_EQ(json.at("layers").at(1).at("encoder"), 3);
}

}  // namespace
}  // namespace flopcast
