#include "workload/model/model_flaw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flopcast {

std::optional<Diagnostic> price_problem(const Model& model) {
  if (model.unpriced.empty()) return std::nullopt;
  return Diagnostic{
      ErrorCode::kUsage, "model",
      fmt::format("{} has {}: its parameters are counted, but no cost of that is known", model.name,
                  fmt::join(model.unpriced, " and ")),
      "see `flopcast models show` for what is known of it"};
}

namespace workload {
namespace {

using Flaw = std::optional<std::string>;

struct NamedCount {
  const char* name;
  std::int64_t value;
};

template <std::size_t n>
Flaw below(std::int64_t least, const NamedCount (&counts)[n]) {
  const auto* low = std::ranges::find_if(counts, [&](const auto& c) { return c.value < least; });
  if (low == std::end(counts)) return std::nullopt;
  return fmt::format("{} is {}", low->name, low->value);
}

Flaw attention_flaw(const AttentionShape& a) {
  if (Flaw flaw = below(1, {{"the number of key heads", a.kv_heads},
                            {"the width of a head", a.head_dim},
                            {"the width of a head's values", a.value_dim}})) {
    return flaw;
  }
  if (a.heads % a.kv_heads != 0) {
    return fmt::format("{} heads share {} of keys", a.heads, a.kv_heads);
  }
  if (a.sparse()) {
    if (Flaw flaw = below(1, {{"the number of the indexer's heads", a.index_heads},
                              {"the width of the indexer's heads", a.index_dim},
                              {"the rank of queries", a.q_rank}})) {
      return flaw;
    }
  }
  if (a.latent() && a.rope_dim > a.head_dim) {
    return fmt::format("{} of {} values of a head are rotated", a.rope_dim, a.head_dim);
  }
  return below(0, {{"the window", a.window},
                   {"the chunk", a.chunk},
                   {"the rank of queries", a.q_rank},
                   {"the rank of keys", a.kv_rank},
                   {"the number of norms' parameters", a.qk_norm},
                   {"the number of vectors' parameters", a.vectors}});
}

Flaw recurrence_flaw(const Recurrence& r) {
  if (Flaw flaw = below(1, {{"the number of the state's key heads", r.key_heads},
                            {"the width of a state's keys", r.key_dim},
                            {"the width of a state's values", r.value_dim},
                            {"the chunk", r.chunk}})) {
    return flaw;
  }
  if (Flaw flaw = below(0, {{"the number of a convolution's taps", r.taps},
                            {"the rank of gates", r.rank},
                            {"the number of norms' parameters", r.norm}})) {
    return flaw;
  }
  if (r.heads % r.key_heads == 0) return std::nullopt;
  return fmt::format("{} heads share {} of keys", r.heads, r.key_heads);
}

Flaw experts_flaw(const Experts& e) {
  if (Flaw flaw = below(1, {{"the width of an expert", e.expert.intermediate},
                            {"the number of experts of a token", e.top_k},
                            {"the number of groups of experts", e.groups},
                            {"the number of groups of a token", e.top_groups}})) {
    return flaw;
  }
  if (e.top_k > e.count) return fmt::format("a token passes {} of {} experts", e.top_k, e.count);
  if (e.top_groups > e.groups || e.count % e.groups != 0) {
    return fmt::format("{} experts lie in {} groups, a token's in {}", e.count, e.groups,
                       e.top_groups);
  }
  return below(0, {{"the width of shared experts", e.shared.intermediate},
                   {"the number of idle experts", e.idle},
                   {"the width that experts work on", e.latent}});
}

Flaw layer_flaw(const Layer& layer) {
  if (!layer.mixes_tokens() && !layer.feeds_forward()) return "a layer does nothing";
  if (Flaw flaw = below(0, {{"the number of heads", layer.attention.heads},
                            {"the number of recurrent heads", layer.recurrence.heads},
                            {"the width of a feed-forward", layer.mlp.intermediate},
                            {"the number of heads that see an encoder", layer.cross.heads},
                            {"the width beside a layer", layer.side},
                            {"the number of experts", layer.experts.count}})) {
    return flaw;
  }
  Flaw flaw;
  if (layer.attention.heads > 0) flaw = attention_flaw(layer.attention);
  if (!flaw && layer.cross.heads > 0) flaw = attention_flaw(layer.cross);
  if (!flaw && layer.recurrence.heads > 0) flaw = recurrence_flaw(layer.recurrence);
  if (!flaw && layer.experts.count > 0) flaw = experts_flaw(layer.experts);
  return flaw;
}

}  // namespace

Flaw model_flaw(const Model& model) {
  if (Flaw flaw = below(1, {{"the width of hidden states", model.hidden},
                            {"the number of layers", model.layers()}})) {
    return flaw;
  }
  if (model.patch == 0 || model.output == Output::kClasses) {
    if (Flaw flaw = below(1, {{"the vocabulary", model.vocab}})) return flaw;
  }
  if (Flaw flaw = below(0, {{"the longest sequence", model.max_sequence},
                            {"the number of positions", model.learned_positions},
                            {"the number of token types", model.token_types},
                            {"the width of embeddings", model.embedding_width},
                            {"the width of a layer's embeddings", model.layer_embedding},
                            {"the size of a patch", model.patch}})) {
    return flaw;
  }
  for (const Layer& layer : model.kinds) {
    if (Flaw flaw = layer_flaw(layer)) return flaw;
  }
  return std::nullopt;
}

}  // namespace workload
}  // namespace flopcast
