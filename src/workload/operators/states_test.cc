// States other than Mamba-2's and the delta rule's, and what stands beside attention: FLOPs, bytes and weights against
// docs/theory/transformers.md.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "workload/operators/testing.h"

namespace flopcast::workload {
namespace {

using namespace test;
using Json = nlohmann::json;

/// Four layers of width 256, of another family's kind.
Model model_of(const std::string& type, const Json& more) {
  Json config = {{"model_type", type},       {"hidden_size", 256},
                 {"intermediate_size", 512}, {"num_hidden_layers", 4},
                 {"num_attention_heads", 4}, {"num_key_value_heads", 2},
                 {"vocab_size", 1000},       {"head_dim", 64}};
  config.update(more);
  const Result<Model> model = parse_model(config.dump(), "config.json");
  EXPECT_TRUE(model) << model.error().text();
  return model ? *model : Model{};
}

Model kimi() {
  return model_of("kimi_linear", {{"kv_lora_rank", 64},
                                  {"qk_rope_head_dim", 16},
                                  {"qk_nope_head_dim", 32},
                                  {"v_head_dim", 32},
                                  {"num_experts", 8},
                                  {"num_experts_per_token", 2},
                                  {"moe_intermediate_size", 64},
                                  {"num_shared_experts", 1},
                                  {"linear_attn_config",
                                   {{"full_attn_layers", {4}},
                                    {"num_heads", 4},
                                    {"head_dim", 32},
                                    {"short_conv_kernel_size", 4}}}});
}

Flops flops_of(const OperatorGraph& graph, std::string_view name) {
  return total_work(find(graph.layers[0], name).forward).matrix;
}

Bytes traffic_of(const OperatorGraph& graph, std::string_view name) {
  return total_work(find(graph.layers[0], name).forward).traffic;
}

TEST(OtherStates, KeyedDeltaIsADeltaRule) {
  const Model model = kimi();
  EXPECT_EQ(model.layer(3).attention.heads, 4);
  Execution run;
  run.sequence = 4096;
  const OperatorGraph graph = make_operators(model, run);
  const double t = 4096, a = 4, n = 32, p = 32, c = 64;
  EXPECT_DOUBLE_EQ(flops_of(graph, "scan").value, t * a * (6 * c * n + 4 * c * p + 6 * n * p));
  EXPECT_DOUBLE_EQ(flops_of(graph, "in_proj").value, 2 * t * 256 * (3 * a * n + a + 2 * n));
  EXPECT_DOUBLE_EQ(flops_of(graph, "gates_proj").value, 2 * t * n * 2 * a * n);
  const Operator& scan = find(graph.layers[0], "scan");
  EXPECT_EQ(scan.weights, 4 * 33);
  EXPECT_DOUBLE_EQ(scan.saved.value, t * (2 * 3 * a * n + 4 * a * (n + 1) + 2 * a * c));
}

TEST(OtherStates, LightningIsAStateSpace) {
  const Model model = model_of("minimax", {{"num_local_experts", 4},
                                           {"num_experts_per_tok", 2},
                                           {"block_size", 128},
                                           {"attn_type_list", {0, 0, 0, 1}}});
  EXPECT_EQ(model.layer(3).attention.heads, 4);
  Execution run;
  run.sequence = 4096;
  const OperatorGraph graph = make_operators(model, run);
  const double t = 4096, a = 4, n = 64, p = 64, c = 128;
  EXPECT_DOUBLE_EQ(flops_of(graph, "scan").value, t * a * (2 * c * n + 2 * c * p + 4 * n * p));
  EXPECT_DOUBLE_EQ(flops_of(graph, "in_proj").value, 2 * t * 256 * 4 * a * n);
  for (const Operator& op : graph.layers[0].operators) EXPECT_NE(op.name, "conv");
}

TEST(OtherStates, MambaReadsAndWritesOnce) {
  const Model model = model_of(
      "mamba", {{"state_size", 16}, {"conv_kernel", 4}, {"expand", 2}, {"time_step_rank", 16}});
  EXPECT_FALSE(model.layer(0).feeds_forward());
  Execution run;
  run.sequence = 4096;
  const OperatorGraph graph = make_operators(model, run);
  const double t = 4096, width = 512, n = 16, rank = 16;
  EXPECT_DOUBLE_EQ(flops_of(graph, "scan").value, 0);
  EXPECT_DOUBLE_EQ(traffic_of(graph, "scan").value,
                   2 * (2 * t * width + 2 * t * n) + 2 * t * width + 4 * t * width * n / 2048);
  EXPECT_DOUBLE_EQ(flops_of(graph, "x_proj").value, 2 * t * width * (rank + 2 * n));
  EXPECT_DOUBLE_EQ(flops_of(graph, "gates_proj").value, 2 * t * rank * width);
  EXPECT_EQ(find(graph.layers[0], "scan").weights, 512 * 18);
}

TEST(OtherStates, ConvolutionsHaveNoScan) {
  const Model model = model_of(
      "lfm2", {{"conv_L_cache", 3}, {"block_auto_adjust_ff_dim", false}, {"full_attn_idxs", {3}}});
  const OperatorGraph graph = make_operators(model, {});
  for (const Operator& op : graph.layers[0].operators) EXPECT_NE(op.name, "scan");
  EXPECT_EQ(find(graph.layers[0], "conv").weights, 3 * 256);
  EXPECT_DOUBLE_EQ(traffic_of(graph, "conv").value, 4 * 2 * 2048 * 256.0);
  EXPECT_DOUBLE_EQ(flops_of(graph, "in_proj").value, 2 * 2048 * 256.0 * 3 * 256);
  EXPECT_EQ(model.layer(3).attention.heads, 4);
}

TEST(OtherStates, BesideAttentionSumOnce) {
  const Json sizes = {{"mamba_n_heads", 8},
                      {"mamba_d_head", 16},
                      {"mamba_n_groups", 1},
                      {"mamba_d_state", 16},
                      {"mamba_d_conv", 4}};
  const Model both = model_of("falcon_h1", sizes);
  Model alone = both;
  for (Layer& layer : alone.kinds) layer.recurrence = {};
  Execution run;
  run.tp = 2;
  const auto sent = [&](const Model& model) {
    double bytes = 0;
    const OperatorGraph graph = make_operators(model, run);
    for (const Operator& op : graph.layers[0].operators) {
      bytes += total_work(op.forward).sent.value + total_work(op.backward_input).sent.value;
    }
    return bytes;
  };
  EXPECT_DOUBLE_EQ(sent(both), sent(alone));
  const OperatorGraph graph = make_operators(both, run);
  EXPECT_GT(flops_of(graph, "scan").value, 0);
  EXPECT_GT(flops_of(graph, "core_attention").value, 0);
}

TEST(SharedKeys, AreNotMadeAgain) {
  const Json sizes = {
      {"layer_types",
       {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}},
      {"num_kv_shared_layers", 2},
      {"hidden_size_per_layer_input", 32},
      {"vocab_size_per_layer_input", 1000},
      {"global_head_dim", 64}};
  const Model model = model_of("gemma4_text", sizes);
  EXPECT_FALSE(model.layer(1).attention.shares_keys);
  EXPECT_TRUE(model.layer(3).attention.shares_keys);
  const OperatorGraph graph = make_operators(model, {});
  const auto made = [&](std::size_t layer) {
    return find(graph.layers[model.order[layer]], "qkv_proj").weights;
  };
  EXPECT_EQ(made(1) - made(3), 256 * 2 * 2 * 64);
  EXPECT_EQ(find(graph.embedding, "layer_embedding").weights, 1000 * 32 * 4);
  EXPECT_EQ(find(graph.layers[0], "side_down_proj").weights, 256 * 32);
}

}  // namespace
}  // namespace flopcast::workload
