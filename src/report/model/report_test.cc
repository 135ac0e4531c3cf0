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

}  // namespace
}  // namespace flopcast
