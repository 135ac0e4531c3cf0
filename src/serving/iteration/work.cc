#include "serving/iteration/work.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flopcast::serving {
namespace {

using Place = LinearWork::Place;

double as_double(std::int64_t n) { return static_cast<double>(n); }
std::int64_t divided(std::int64_t n, std::int64_t ways) { return (n + ways - 1) / ways; }

/// What all layers of a stage are counted with.
struct Counting {
  const Deployment& d;
  StageWork& work;
  std::int64_t tp = 1;
  double kv = 2;  ///< bytes of a value in the cache

  void linear(Place place, std::int64_t in, std::int64_t out, GemmType type, double count) {
    if (in <= 0 || out <= 0 || count <= 0) return;
    work.linears.push_back({place, in, out, type, count});
    work.weight_bytes += count * as_double(in) * as_double(out) * stored_bytes(type);
  }
};

/// Heads of keys and values on a chip: at least one, repeated where there are more chips.
std::int64_t kv_heads_on_chip(const AttentionShape& a, std::int64_t tp) {
  return std::max<std::int64_t>(1, divided(a.kv_heads, tp));
}

/// Tokens a query sees back in this layer; 0: all.
std::int64_t layer_cap(const AttentionShape& a) {
  if (a.sparse()) return a.index_top_k;
  if (a.window > 0) return a.window;
  return a.chunk;
}

/// Products of the hidden state that make gates of their own; others are columns of the queries' product.
void count_gates(Counting& c, const AttentionShape& a, double n) {
  const std::int64_t heads = divided(a.heads, c.tp);
  if (a.latent() && a.output_gate) {
    c.linear(Place::kAttention, c.work.hidden, heads * a.value_dim, c.d.precision.attention, n);
  }
  if (a.head_gate) c.linear(Place::kAttention, c.work.hidden, heads, GemmType::kBf16, n);
}

void count_latent_linears(Counting& c, const AttentionShape& a, double n) {
  const GemmType type = c.d.precision.attention;
  const std::int64_t h = c.work.hidden, heads = divided(a.heads, c.tp);
  if (a.q_rank > 0) {
    c.linear(Place::kAttention, h, a.q_rank + a.kv_rank + a.rope_dim, type, n);
    c.linear(Place::kAttention, a.q_rank, heads * a.head_dim, type, n);
  } else {
    c.linear(Place::kAttention, h, heads * a.head_dim + a.kv_rank + a.rope_dim, type, n);
  }
  // Keys' and values' up-projections; decodes multiply them into queries and context instead.
  c.linear(Place::kAttention, a.kv_rank, heads * (a.head_dim - a.rope_dim), type, n);
  c.linear(Place::kAttention, a.kv_rank, heads * a.value_dim, type, n);
  c.linear(Place::kAttention, heads * a.value_dim, h, type, n);
  count_gates(c, a, n);
  if (!a.indexes()) return;
  c.linear(Place::kAttention, a.q_rank, a.index_heads * a.index_dim, type, n);
  c.linear(Place::kAttention, h, a.index_dim + a.index_heads, GemmType::kBf16, n);
}

void count_grouped_linears(Counting& c, const AttentionShape& a, double n) {
  const GemmType type = c.d.precision.attention;
  const std::int64_t h = c.work.hidden, heads = divided(a.heads, c.tp);
  const std::int64_t kv = kv_heads_on_chip(a, c.tp);
  const std::int64_t keys =
      a.shares_keys ? 0 : kv * (a.keys_are_values ? a.head_dim : a.head_dim + a.value_dim);
  const std::int64_t queries = heads * (a.head_dim + (a.output_gate ? a.value_dim : 0));
  c.linear(Place::kAttention, h, queries + keys, type, n);
  c.linear(Place::kAttention, heads * a.value_dim, h, type, n);
  count_gates(c, a, n);
}

/// FLOP of a query and a key it sees, both ways of latent attention: through the latent (decode, chosen keys), or
/// through keys and values of every head.
double pair_work(const AttentionShape& a, std::int64_t tp, bool absorbed) {
  const double heads = as_double(divided(a.heads, tp));
  if (a.latent() && absorbed) return 2 * heads * as_double(2 * a.kv_rank + a.rope_dim);
  return 2 * heads * as_double(a.head_dim + a.value_dim);
}

/// An indexer's keys are kept in 8 bits with a scale of 4 bytes each 128.
void count_indexer(AttentionWork& w, const AttentionShape& a, double n) {
  if (!a.indexes()) return;
  const double key = as_double(a.index_dim) * (1 + 4.0 / 128);
  const double scores = 2 * as_double(a.index_heads) * as_double(a.index_dim);
  w.indexers += n;
  w.full_bytes += n * key;
  w.full_flops += n * scores;
  w.pair_flops += n * scores;
  w.context_bytes += n * key;
  w.kept_per_token += n * key;
}

void count_attention(Counting& c, const AttentionShape& a, double n) {
  AttentionWork& w = c.work.attention;
  const std::int64_t cap = layer_cap(a);
  const double read =
      a.latent() ? as_double(a.kv_rank + a.rope_dim) * c.kv
                 : as_double(kv_heads_on_chip(a, c.tp) * (a.head_dim + a.value_dim)) * c.kv;
  const double kept = a.shares_keys ? 0 : read;  // an earlier layer's
  w.layers += n;
  (cap > 0 ? w.capped_bytes : w.full_bytes) += n * read;
  (cap > 0 ? w.capped_flops : w.full_flops) += n * pair_work(a, c.tp, true);
  (cap > 0 ? w.capped_pair_flops : w.pair_flops) += n * pair_work(a, c.tp, a.sparse());
  if (cap > 0) w.cap = w.cap == 0 ? cap : std::min(w.cap, cap);
  if (a.sparse()) {
    count_indexer(w, a, n);
    w.kept_per_token += n * kept;
  } else if (cap > 0) {
    // Blocks come as they are needed: a short window is soon whole, one beyond usual requests grows with them.
    constexpr std::int64_t kSoonWhole = 2048;
    (cap <= kSoonWhole ? w.kept_per_request : w.kept_per_token) +=
        n * kept * (cap <= kSoonWhole ? as_double(cap) : 1);
  } else {
    w.kept_per_token += n * kept;
    w.context_bytes += n * read;
    if (a.latent()) {
      w.context_flops += n * 2 * as_double(a.kv_rank) * as_double(divided(a.heads, c.tp)) *
                         as_double(a.head_dim - a.rope_dim + a.value_dim);
    }
  }
  const std::int64_t heads = divided(a.heads, c.tp);
  if (heads * a.head_dim < w.heads * w.head_dim) return;
  w.heads = heads;
  w.kv_heads = a.latent() ? heads : kv_heads_on_chip(a, c.tp);
  w.head_dim = (a.head_dim + a.value_dim) / 2;
}

/// FLOP of a token's way through the states, as far as a chip's matrix units set their pace.
double scan_flops(const Recurrence& r, double heads) {
  const double state = as_double(r.key_dim * r.value_dim);
  if (r.kind == RecurrenceKind::kConvolution) return 0;
  if (r.kind == RecurrenceKind::kSelective) {
    // 9 FLOP a value of the state (Gu and Dao, arXiv:2312.00752, selective_scan), on units that are a sixteenth as fast.
    constexpr double kPerValue = 9, kSlower = 16;
    return kPerValue * kSlower * heads * state;
  }
  // A chunk of C tokens: three products with the state, three within the chunk (delta rule); two and two.
  const bool delta = r.kind == RecurrenceKind::kGatedDelta || r.kind == RecurrenceKind::kKeyedDelta;
  return 2 * heads * (delta ? 3 : 2) *
         (state + as_double(r.chunk) * as_double(r.key_dim + r.value_dim) / 2);
}

void count_recurrence(Counting& c, const Recurrence& r, double n) {
  AttentionWork& w = c.work.attention;
  const std::int64_t h = c.work.hidden, values = divided(r.value_width(), c.tp);
  const GemmType type = c.d.precision.attention;
  const double heads = as_double(divided(r.heads, c.tp));
  c.linear(Place::kAttention, h, divided(r.projection_width(), c.tp), type, n);
  if (r.kind == RecurrenceKind::kSelective) {
    c.linear(Place::kAttention, values, r.rank + 2 * r.key_dim, type, n);
  }
  c.linear(Place::kAttention, r.rank, divided(r.gate_width(), c.tp), type, n);
  c.linear(Place::kAttention, values, h, type, n);
  // States are kept in 32 bits, read and written once a token; the convolution's taps in 16.
  const double state = r.keeps_states() ? heads * as_double(r.key_dim * r.value_dim) * 4 : 0;
  const double taps =
      as_double(divided(r.channels(), c.tp) * std::max<std::int64_t>(r.taps - 1, 0)) * 2;
  w.recurrences += n;
  w.state_bytes += n * 2 * (state + taps);
  w.kept_per_request += n * (state + taps);
  w.state_flops += n * scan_flops(r, heads);
}

void count_dense(Counting& c, const FeedForward& mlp, double n, GemmType type) {
  if (mlp.intermediate == 0) return;
  const std::int64_t inner = divided(mlp.intermediate, c.tp);
  c.linear(Place::kFeedForward, c.work.hidden, inner * (mlp.gated ? 2 : 1), type, n);
  c.linear(Place::kFeedForward, inner, c.work.hidden, type, n);
}

void count_experts(Counting& c, const Experts& e, double n) {
  ExpertWork w;
  w.hidden = e.latent > 0 ? e.latent : c.work.hidden;
  w.intermediate = e.expert.intermediate;
  w.experts = e.count;
  w.top_k = e.top_k;
  w.expert_parallel = c.d.layout.ep;
  w.tensor_parallel = c.d.layout.expert_tp();
  w.gated = e.expert.gated;
  w.type = c.d.precision.experts;
  w.count = n;
  c.linear(Place::kRouter, c.work.hidden, e.count + e.idle, GemmType::kBf16, n);
  c.linear(Place::kFeedForward, c.work.hidden, e.latent, c.d.precision.dense, n);
  c.linear(Place::kFeedForward, e.latent, c.work.hidden, c.d.precision.dense, n);
  count_dense(c, e.shared, n, c.d.precision.dense);
  c.work.weight_bytes += n * w.local() * w.values() * stored_bytes(w.type);
  c.work.experts.push_back(w);
}

/// Of a layer, beside attention itself: the norm before each block, with the sum before it; norms of queries and keys (of what they are
/// made of, where that is latent), their rotation; the activation. Of recurrences and experts the kernels are counted apart.
double kernels_between(const Layer& layer) {
  const AttentionShape& a = layer.attention;
  double count = (layer.mixes_tokens() ? 1 : 0) + (layer.feeds_forward() ? 1 : 0);
  if (a.heads > 0) count += (a.qk_norm > 0 || a.latent() ? 2 : 0) + (a.rotary ? 1 : 0);
  if (layer.experts.count > 0) return count + (layer.experts.shared.intermediate > 0 ? 1 : 0);
  return count + (layer.mlp.intermediate > 0 ? 1 : 0);
}

void count_layer(Counting& c, const Layer& layer, double n) {
  c.work.layers += n;
  c.work.between += n * kernels_between(layer);
  if (layer.mixes_tokens()) c.work.mixers += n;
  if (layer.feeds_forward()) c.work.feed_forwards += n;
  if (layer.attention.heads > 0) {
    layer.attention.latent() ? count_latent_linears(c, layer.attention, n)
                             : count_grouped_linears(c, layer.attention, n);
    count_attention(c, layer.attention, n);
  }
  if (layer.recurrence.heads > 0) count_recurrence(c, layer.recurrence, n);
  c.linear(Place::kFeedForward, c.work.hidden, layer.side, c.d.precision.dense, n);
  c.linear(Place::kFeedForward, layer.side, c.work.hidden, c.d.precision.dense, n);
  if (layer.experts.count > 0) return count_experts(c, layer.experts, n);
  if (layer.mlp.intermediate > 0) c.work.dense_feed_forwards += n;
  count_dense(c, layer.mlp, n, c.d.precision.dense);
}

void count_ends(Counting& c, bool first, bool last) {
  const Model& m = c.d.model;
  const double table = as_double(divided(m.vocab, c.tp)) *
                       as_double(m.embedding_width > 0 ? m.embedding_width : m.hidden) *
                       bytes_per_element(c.d.precision.head);
  c.work.vocab = divided(m.vocab, c.tp);
  c.work.has_head = last;
  c.work.head_bytes = last ? table : 0;
  c.work.embedding_bytes = first && !(last && m.tied_embeddings) ? table : 0;
  c.work.weight_bytes += c.work.head_bytes + c.work.embedding_bytes;
  if (!first || m.layer_embedding == 0) return;
  const std::int64_t width = m.layer_embedding * m.layers();
  c.work.weight_bytes += as_double(divided(m.layer_vocab, c.tp)) * as_double(width) *
                         bytes_per_element(c.d.precision.head);
  c.linear(Place::kFeedForward, m.hidden, width, GemmType::kBf16, 1);
}

Counting counting(const Deployment& d, StageWork& work) {
  work.hidden = d.model.hidden;
  return {d, work, d.layout.tp, bytes_per_element(d.precision.kv_cache)};
}

/// Layers [first, last) of the model.
StageWork part_work(const Deployment& d, std::size_t first, std::size_t last) {
  StageWork work;
  Counting c = counting(d, work);
  std::vector<double> of_kind(d.model.kinds.size(), 0);
  for (std::size_t i = first; i < last; ++i) of_kind[d.model.order[i]] += 1;
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    if (of_kind[kind] > 0) count_layer(c, d.model.kinds[kind], of_kind[kind]);
  }
  count_ends(c, first == 0, last == d.model.order.size());
  return work;
}

}  // namespace

double stored_bytes(GemmType type) {
  switch (type) {
    case GemmType::kFp32:
    case GemmType::kTf32:
      return 4;
    case GemmType::kBf16:
    case GemmType::kFp16:
      return 2;
    case GemmType::kFp8Block:
      return 1 + 4.0 / (128 * 128);
    case GemmType::kNvfp4:
      return 0.5 + 1.0 / 16;
    case GemmType::kInt4WeightOnly:
      return 0.5 + 2.0 / 32;
    case GemmType::kMxfp4Weight:
    case GemmType::kMxfp4Mxfp8:
      return 0.5 + 1.0 / 32;
    case GemmType::kFp8:
    case GemmType::kFp8Static:
    case GemmType::kInt8WeightOnly:
    case GemmType::kSmoothQuant:
      break;
  }
  return 1;
}

double ExpertWork::touched(double tokens, double spread) const {
  // Gauss-Hermite nodes and weights of a standard normal variable.
  constexpr std::array<std::array<double, 2>, 4> kNodes = {
      {{0.0, 16.0 / 35},
       {1.154405394739968, 0.2401231786050127},
       {2.366759410734541, 0.03075712396758651},
       {3.750439717725742, 0.0005482688559722}}};
  const double mean = tokens * static_cast<double>(top_k) / static_cast<double>(experts);
  double share = 0;
  for (const auto& [node, weight] : kNodes) {
    for (const double side : {node, -node}) {
      const double load = mean * std::exp(spread * side - spread * spread / 2);
      share -= (node > 0 ? weight : weight / 2) * std::expm1(-load);
    }
  }
  return local() * share;
}

StageWork stage_work(const Deployment& d) {
  const std::size_t layers = d.model.order.size(), stages = std::max(1U, d.layout.pp);
  StageWork fullest;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    StageWork work = part_work(d, layers * stage / stages, layers * (stage + 1) / stages);
    if (stage == 0 || work.weight_bytes > fullest.weight_bytes) fullest = std::move(work);
  }
  return fullest;
}

StageWork draft_work(const Deployment& d) {
  StageWork work;
  if (d.settings.speculation.kind == Speculation::Kind::kNone) return work;
  Counting c = counting(d, work);
  const std::int64_t h = d.model.hidden;
  // The hidden state and the token before it, side by side.
  c.linear(Place::kFeedForward, 2 * h, divided(h, c.tp), GemmType::kBf16, 1);
  if (d.model.order.empty()) return work;
  const Layer& last = d.model.kinds[d.model.order.back()];
  Layer layer = last;
  if (d.settings.speculation.kind == Speculation::Kind::kEagle && layer.experts.count > 0) {
    layer.mlp = {.intermediate = 4 * h};
    layer.experts = {};
  }
  count_layer(c, layer, 1);
  work.has_head = true;
  work.vocab = divided(d.model.vocab, c.tp);
  return work;
}

}  // namespace flopcast::serving
