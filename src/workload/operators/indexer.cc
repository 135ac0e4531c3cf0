// Sparse attention's indexer: small queries and keys whose scores choose what each token attends to.
#include <algorithm>

#include "workload/operators/builder.h"

namespace flopcast::workload {
namespace {

/// Scores of all pairs (summed over heads, so one number a pair), then the best of every row.
void add_scores(OperatorBuilder& b, const AttentionShape& a) {
  Operator& op = b.begin("index_scores");
  const std::int64_t pieces = b.run.cp * b.run.tp2 * (b.shards_sequence ? b.n : 1);
  const std::int64_t queries = share(b.run.sequence, pieces);
  const std::int64_t keys = pieces == 1 ? b.run.sequence : share(b.run.sequence, 2);
  const double gathered = b.element * static_cast<double>(b.run.microbatch * b.run.sequence) *
                          static_cast<double>(a.index_dim);
  b.send(op.forward, CollectiveOp::kAllGather, Group::kContext, gathered);
  if (b.shards_sequence) b.send(op.forward, CollectiveOp::kAllGather, Group::kTensor, gathered);
  // Half a head's width: scores alone, no values.
  Attention scores{.batch = b.run.microbatch,
                   .query_length = queries,
                   .kv_length = std::max(keys, queries),
                   .heads = a.index_heads,
                   .kv_heads = 1,
                   .head_dim = share(a.index_dim, 2),
                   .causal = pieces == 1,
                   .type = b.type,
                   .kv_cache = b.type};
  const std::int64_t rows = b.run.microbatch * queries;
  const std::int64_t seen = share(b.run.sequence, 2);
  const double bytes = 4 * static_cast<double>(rows) * static_cast<double>(seen);
  op.forward.push_back({Kernel{scores}});
  op.forward.push_back({Kernel{b.memory_bound(MemoryOp::kSoftmax, rows, seen, bytes, bytes)}});
  scores.backward = true;
  op.backward_input.push_back({Kernel{scores}});
  const double kept = static_cast<double>(b.u * (a.index_heads + 1) * a.index_dim);
  b.save(op, b.element * kept);
  b.save(op, 4 * static_cast<double>(b.u) *
                 static_cast<double>(std::min(a.index_top_k, b.run.sequence)));
}

}  // namespace

void add_indexer(OperatorBuilder& b, const AttentionShape& a) {
  b.linear({.name = "index_q_proj",
            .in = a.q_rank,
            .out = a.index_heads * a.index_dim,
            .cut = Cut::kWhole,
            .saves_input = false});
  b.linear({.name = "index_k_proj",
            .in = b.h,
            .out = a.index_dim,
            .cut = Cut::kWhole,
            .saves_input = false});
  b.norm("index_norm", NormKind::kLayerNorm, b.u, a.index_dim);
  b.linear({.name = "index_weight_proj",
            .in = b.h,
            .out = a.index_heads,
            .cut = Cut::kWhole,
            .saves_input = false,
            .quantized = false});
  add_scores(b, a);
}

}  // namespace flopcast::workload
