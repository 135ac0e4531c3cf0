#include "workload/checkpoint/modules.h"

#include <fmt/format.h>

#include <initializer_list>

namespace flopcast::workload {
namespace {

using Words = std::initializer_list<std::string_view>;

std::vector<std::string> joined(std::size_t layer, Words blocks, Words products) {
  std::vector<std::string> names;
  for (const std::string_view block : blocks) {
    for (const std::string_view product : products) {
      names.push_back(fmt::format("layers.{}.{}.{}", layer, block, product));
    }
  }
  return names;
}

double width(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

const Words kAttentionBlocks = {"self_attn", "attention", "attn", "mixer"};

void add_attention(const AttentionShape& a, std::size_t index, std::int64_t hidden,
                   std::vector<StoredModule>& out) {
  const auto add = [&](double values, Words products) {
    out.push_back({WeightClass::kAttention, values, joined(index, kAttentionBlocks, products)});
  };
  const std::int64_t queries = a.heads * a.head_dim;
  if (a.latent()) {
    if (a.q_rank > 0) add(width(hidden, a.q_rank), {"q_a_proj", "fused_qkv_a_proj"});
    add(width(a.q_rank > 0 ? a.q_rank : hidden, queries), {"q_b_proj", "q_proj"});
    add(width(hidden, a.kv_rank + a.rope_dim), {"kv_a_proj_with_mqa", "fused_qkv_a_proj"});
    add(width(a.kv_rank, a.heads * (a.head_dim - a.rope_dim + a.value_dim)), {"kv_b_proj"});
  } else {
    add(width(hidden, queries), {"q_proj", "qkv_proj"});
    add(width(hidden, a.projection_width() - queries), {"k_proj", "qkv_proj"});
  }
  add(width(a.heads * a.value_dim, hidden), {"o_proj", "out_proj"});
}

void add_recurrence(const Recurrence& r, std::size_t index, std::int64_t hidden,
                    std::vector<StoredModule>& out) {
  const Words kBlocks = {"linear_attn", "mixer", "mamba", "self_attn"};
  out.push_back({WeightClass::kAttention, width(hidden, r.projection_width()),
                 joined(index, kBlocks, {"in_proj", "in_proj_qkvz", "in_proj_qkv", "qkv_proj"})});
  out.push_back({WeightClass::kAttention, width(r.value_width(), hidden),
                 joined(index, kBlocks, {"out_proj", "o_proj"})});
}

void add_feed_forward(const FeedForward& mlp, double copies, WeightClass weights, Words blocks,
                      std::size_t index, std::int64_t hidden, std::vector<StoredModule>& out) {
  if (mlp.intermediate == 0) return;
  const double values = copies * width(hidden, mlp.intermediate);
  out.push_back({weights, values * (mlp.gated ? 2 : 1),
                 joined(index, blocks, {"gate_proj", "up_proj", "gate_up_proj", "w1", "fc1"})});
  out.push_back({weights, values, joined(index, blocks, {"down_proj", "w2", "fc2"})});
}

}  // namespace

std::string_view name(WeightClass weights) {
  constexpr std::string_view kNames[] = {"attention", "dense", "experts"};
  return kNames[static_cast<std::size_t>(weights)];
}

std::vector<StoredModule> stored_modules(const Layer& layer, std::size_t index,
                                         std::int64_t hidden) {
  std::vector<StoredModule> out;
  if (layer.attention.heads > 0) add_attention(layer.attention, index, hidden, out);
  if (layer.recurrence.heads > 0) add_recurrence(layer.recurrence, index, hidden, out);
  const Experts& e = layer.experts;
  if (e.count > 0) {
    add_feed_forward(e.shared, 1, WeightClass::kDense,
                     {"mlp.shared_experts", "mlp.shared_expert", "feed_forward.shared_expert",
                      "mixer.shared_experts", "block_sparse_moe.shared_experts"},
                     index, hidden, out);
    add_feed_forward(e.expert, static_cast<double>(e.count), WeightClass::kExperts,
                     {"mlp.experts.0", "mlp.experts", "block_sparse_moe.experts.0",
                      "feed_forward.experts", "mixer.experts.0"},
                     index, hidden, out);
  } else {
    add_feed_forward(layer.mlp, 1, WeightClass::kDense, {"mlp", "feed_forward", "mixer"}, index,
                     hidden, out);
  }
  return out;
}

}  // namespace flopcast::workload
