// The model that Megatron-LM's flags describe.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/launchers/texts.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

// clang-format off
constexpr std::array<std::string_view, 51> kModel = {
    "num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "kv-channels",
    "group-query-attention", "num-query-groups", "num-key-value-heads", "swiglu", "squared-relu",
    "normalization", "position-embedding-type", "use-rotary-position-embeddings",
    "use-rope", "no-position-embedding", "max-position-embeddings",
    "untie-embeddings-and-output-weights", "disable-bias-linear", "add-bias-linear",
    "add-qkv-bias", "no-add-qkv-bias", "qk-layernorm", "attention-dropout", "hidden-dropout",
    "vocab-size", "padded-vocab-size", "pad-vocab-size-to", "make-vocab-size-divisible-by",
    "extra-vocab-size", "tokenizer-type", "patch-tokenizer-type", "embed-layernorm", "num-experts",
    "moe-router-topk", "moe-ffn-hidden-size", "moe-shared-expert-intermediate-size",
    "moe-layer-freq", "expert-interval", "multi-latent-attention", "q-lora-rank", "kv-lora-rank",
    "qk-head-dim", "qk-pos-emb-head-dim", "v-head-dim", "moe-router-enable-expert-bias",
    "num-moe-experts", "moe-grouped-gemm",
    "rotary-base", "rotary-percent", "norm-epsilon", "apply-layernorm-1p"};
// clang-format on

constexpr std::int64_t kWidest = std::int64_t{1} << 22, kMostLayers = std::int64_t{1} << 14;

/// Vocabularies of tokenizers that need no file.
std::int64_t tokenizer_vocab(std::string_view type) {
  constexpr std::pair<std::string_view, std::int64_t> kSizes[] = {
      {"GPT2BPETokenizer", 50257}, {"Llama2Tokenizer", 32000}, {"Llama3Tokenizer", 128256}};
  for (const auto& [name, size] : kSizes) {
    if (name == type) return size;
  }
  return 0;
}

/// Which layers have experts, of --moe-layer-freq: 2 (every second), or a list as Python writes it,
/// ([0]*3+[1]*58). Nothing where it cannot be read.
std::vector<bool> expert_layers(std::string_view text, std::int64_t layers) {
  std::vector<bool> all;
  if (const auto every = parse_whole(text)) {
    for (std::int64_t i = 0; i<layers&& * every> 0; ++i) all.push_back(i % *every == 0);
    return all;
  }
  std::string list(text);
  std::erase_if(list, [](char c) { return c == '(' || c == ')' || c == ' ' || c == '"'; });
  std::string_view rest(list);
  while (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return {};
    std::vector<bool> part;
    for (const char c : rest.substr(1, end - 1)) {
      if (c == '0' || c == '1') part.push_back(c == '1');
    }
    rest.remove_prefix(end + 1);
    std::int64_t times = 1;
    if (rest.starts_with('*')) {
      rest.remove_prefix(1);
      times = take_whole(rest).value_or(0);
    }
    for (std::int64_t i = 0; i < std::min(times, kMostLayers); ++i) {
      if (static_cast<std::int64_t>(all.size()) > layers) return {};
      all.insert(all.end(), part.begin(), part.end());
    }
    if (rest.starts_with('+')) rest.remove_prefix(1);
  }
  const bool whole = rest.empty() && static_cast<std::int64_t>(all.size()) == layers;
  return whole ? all : std::vector<bool>();
}

class ModelReader {
 public:
  explicit ModelReader(const LaunchSettings& flags) {
    for (const LaunchSetting& flag : flags) {
      if (!flag.null) flags_[flag.key] = &flag;
    }
  }

  FileModel run() {
    sizes();
    told_.vocab = vocabulary();
    need("num-layers", told_.layers);
    need("hidden-size", told_.hidden);
    need("num-attention-heads", told_.heads);
    need("vocab-size", told_.vocab);
    for (const auto& [name, flag] : flags_) {
      if (is_model_flag(name) && has_unknown(flag->first())) {
        told_.missing.push_back(fmt::format("--{} ({})", name, readable(flag->first())));
      }
    }
    if (told_.layers > 0 && told_.missing.empty()) told_.whole = model();
    return std::move(told_);
  }

 private:
  bool has(std::string_view name) const { return flags_.contains(name); }
  std::string_view word(std::string_view name) const {
    const auto found = flags_.find(name);
    return found == flags_.end() ? std::string_view() : found->second->first();
  }
  std::int64_t number(std::string_view name, std::int64_t otherwise = 0) const {
    const std::optional<std::int64_t> value = parse_whole(word(name));
    return value && *value >= 1 && *value <= (std::int64_t{1} << 26) ? *value : otherwise;
  }
  void need(std::string_view name, std::int64_t value) {
    if (value == 0 && !has_unknown(word(name))) told_.missing.push_back("--" + std::string(name));
  }

  void sizes() {
    told_.layers = std::min(number("num-layers"), kMostLayers);
    told_.hidden = std::min(number("hidden-size"), kWidest);
    told_.heads = number("num-attention-heads");
    const bool grouped = has("group-query-attention") || has("num-key-value-heads");
    told_.kv_heads = grouped ? number("num-query-groups", number("num-key-value-heads")) : 0;
    if (told_.kv_heads == 0 && !grouped) told_.kv_heads = told_.heads;
    // Two thirds of the usual width where there are three matrices, in steps of 64.
    const std::int64_t usual =
        has("swiglu") ? 4 * told_.hidden * 2 / 3 / 64 * 64 : 4 * told_.hidden;
    told_.feed_forward = std::min(number("ffn-hidden-size", usual), kWidest);
    told_.experts = number("num-experts", number("num-moe-experts"));
    if (told_.experts <= 1) told_.experts = 0;
    if (told_.experts == 0) return;
    told_.top_k =
        number("moe-router-topk", number("topk", has("moe-expert-parallel-size") ? 1 : 2));
    told_.expert_width = number("moe-ffn-hidden-size", told_.feed_forward);
  }

  std::int64_t vocabulary() const {
    if (const std::int64_t padded = number("padded-vocab-size", number("pad-vocab-size-to"))) {
      return padded;
    }
    std::string_view tokenizer = word("tokenizer-type");
    if (tokenizer.empty() && has("merge-file")) tokenizer = "GPT2BPETokenizer";
    const std::int64_t size = number("vocab-size", tokenizer_vocab(tokenizer));
    if (size == 0) return 0;
    const std::int64_t step = number("make-vocab-size-divisible-by", 128) *
                              number("tensor-model-parallel-size", number("tp", 1));
    return (size + step - 1) / step * step;
  }

  bool rotary() const {
    return word("position-embedding-type") == "rope" || has("use-rotary-position-embeddings") ||
           has("use-rope");
  }

  AttentionShape attention() const {
    AttentionShape a;
    a.heads = told_.heads;
    a.kv_heads = std::max<std::int64_t>(told_.kv_heads, 1);
    a.head_dim = number("kv-channels", std::max<std::int64_t>(told_.hidden / told_.heads, 1));
    a.value_dim = a.head_dim;
    a.rotary = rotary();
    const bool bias = !has("disable-bias-linear");
    a.qkv_bias = bias || has("add-qkv-bias");
    a.out_bias = bias;
    if (has("qk-layernorm")) a.qk_norm = 2 * a.head_dim;
    if (!has("multi-latent-attention")) return a;
    a.kv_heads = a.heads;
    a.q_rank = number("q-lora-rank");
    a.kv_rank = number("kv-lora-rank", 32);
    a.rope_dim = number("qk-pos-emb-head-dim", 64);
    a.head_dim = number("qk-head-dim", 128) + a.rope_dim;
    a.value_dim = number("v-head-dim", 128);
    a.qk_norm = 0;
    return a;
  }

  Layer layer(bool sparse) const {
    Layer layer;
    layer.attention = attention();
    layer.norm =
        name_key(word("normalization")) == "rmsnorm" ? NormKind::kRmsNorm : NormKind::kLayerNorm;
    const bool bias = !has("disable-bias-linear");
    const FeedForward dense{told_.feed_forward, has("swiglu"), bias};
    if (!sparse) {
      layer.mlp = dense;
      return layer;
    }
    layer.experts.count = told_.experts;
    layer.experts.top_k = std::min(told_.top_k, told_.experts);
    layer.experts.expert = {told_.expert_width, has("swiglu"), bias && !has("moe-grouped-gemm")};
    if (const std::int64_t shared = number("moe-shared-expert-intermediate-size")) {
      layer.experts.shared = {shared, has("swiglu"), bias};
    }
    layer.experts.router_bias = has("moe-router-enable-expert-bias");
    return layer;
  }

  std::vector<bool> sparse_layers() {
    const auto count = static_cast<std::size_t>(told_.layers);
    if (told_.experts == 0) return std::vector<bool>(count, false);
    if (has("moe-layer-freq")) return expert_layers(word("moe-layer-freq"), told_.layers);
    // Megatron-DeepSpeed: every second layer, unless told otherwise.
    const std::int64_t every = has("moe-expert-parallel-size") ? number("expert-interval", 2) : 1;
    std::vector<bool> sparse;
    for (std::size_t i = 0; i < count; ++i) {
      sparse.push_back((static_cast<std::int64_t>(i) + 1) % every == 0);
    }
    return sparse;
  }

  std::optional<Model> model() {
    const std::vector<bool> sparse = sparse_layers();
    const bool fits = told_.heads <= kWidest && told_.vocab < (std::int64_t{1} << 26) &&
                      told_.experts < kMostLayers && told_.hidden % told_.heads == 0;
    if (sparse.empty() || !fits) {
      told_.missing.emplace_back(sparse.empty() ? "--moe-layer-freq"
                                                : "--hidden-size of whole heads");
      return std::nullopt;
    }
    Model model;
    model.name = fmt::format("{} layers of {}", told_.layers, told_.hidden);
    model.architecture = "megatron";
    model.hidden = told_.hidden;
    model.vocab = told_.vocab;
    const bool learned = !rotary() && !has("no-position-embedding") &&
                         (word("position-embedding-type").empty() ||
                          word("position-embedding-type") == "learned_absolute");
    model.max_sequence = number("max-position-embeddings", number("seq-length"));
    model.learned_positions = learned ? model.max_sequence : 0;
    model.embedding_norm = has("embed-layernorm");
    model.tied_embeddings = !has("untie-embeddings-and-output-weights");
    model.attention_dropout = parse_number(word("attention-dropout")).value_or(0.1) > 0;
    model.hidden_dropout = parse_number(word("hidden-dropout")).value_or(0.1) > 0;
    for (const bool one : sparse) add_layer(model, layer(one));
    return model;
  }

  static void add_layer(Model& model, const Layer& layer) {
    const auto same = std::find(model.kinds.begin(), model.kinds.end(), layer);
    model.order.push_back(static_cast<std::uint16_t>(same - model.kinds.begin()));
    if (same == model.kinds.end()) model.kinds.push_back(layer);
  }

  std::map<std::string, const LaunchSetting*, std::less<>> flags_;
  FileModel told_;
};

}  // namespace

bool is_model_flag(std::string_view key) {
  return std::find(kModel.begin(), kModel.end(), key) != kModel.end();
}

FileModel read_file_model(const LaunchSettings& flags) { return ModelReader(flags).run(); }

}  // namespace flopcast::parallel

namespace flopcast {

std::vector<std::string> model_differences(const FileModel& told, const Model& model) {
  std::vector<std::string> words;
  const auto compare = [&](std::string_view what, std::int64_t file, std::int64_t own) {
    if (file > 0 && file != own) words.push_back(fmt::format("{} {}, not {}", what, file, own));
  };
  compare("layers", told.layers, model.layers());
  compare("hidden size", told.hidden, model.hidden);
  if (model.kinds.empty()) return words;
  const Layer& last = model.kinds[model.order.back()];
  compare("heads", told.heads, last.attention.heads);
  if (!last.attention.latent())
    compare("heads of keys and values", told.kv_heads, last.attention.kv_heads);
  std::int64_t width = 0;
  for (const Layer& layer : model.kinds) width = std::max(width, layer.mlp.intermediate);
  if (width > 0) compare("feed-forward width", told.feed_forward, width);
  if (told.experts != last.experts.count && told.layers > 0) {
    words.push_back(fmt::format("experts {}, not {}", told.experts, last.experts.count));
  }
  compare("experts of a token", told.top_k, last.experts.top_k);
  return words;
}

}  // namespace flopcast
