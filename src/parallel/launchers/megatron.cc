// Reads Megatron-LM's launch flags.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <vector>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

/// Words of a shell line: quotes kept together, comments and line continuations left out.
std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  const auto close = [&] {
    if (open) words.push_back(word);
    word.clear();
    open = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      c == quote ? void(quote = 0) : void(word += c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == '#' && !open) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == '\\' && i + 1 < text.size() && (text[i + 1] == '\n' || text[i + 1] == '\r')) {
      continue;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      close();
    } else {
      word += c;
      open = true;
    }
  }
  close();
  return words;
}

struct Flag {
  std::string name;  ///< without dashes, '-' for '_'
  std::optional<std::string> value;
};

bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

/// What a launcher such as torchrun starts, after its own flags.
bool is_program(const std::string& word) { return word.ends_with(".py"); }

std::vector<Flag> flags_of(const std::vector<std::string>& words) {
  std::vector<Flag> flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;
    const std::size_t equals = words[i].find('=');
    Flag flag{words[i].substr(2, equals == std::string::npos ? equals : equals - 2), {}};
    std::replace(flag.name.begin(), flag.name.end(), '_', '-');
    if (equals != std::string::npos) {
      flag.value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !is_flag(words[i + 1])) {
      flag.value = words[i + 1];
      // Flags of several values: all words up to the next flag.
      for (std::size_t j = i + 2; j < words.size() && !is_flag(words[j]); ++j) {
        if (is_program(words[j])) break;
        *flag.value += " " + words[j];
      }
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

class MegatronReader {
 public:
  MegatronReader(std::string_view text, std::string where)
      : flags_(flags_of(shell_words(text))), where_(std::move(where)) {
    Plan& plan = file_.plan;
    plan.global_batch = 0;
    plan.zero = Zero::kNone;
    plan.overlap = {false, false, false, true, true, false};
    plan.precision = Precision::kFp32;
    plan.fp32_gradients = false;
    plan.context = ContextKind::kRing;
  }

  Result<PlanFile> run() {
    const std::map<std::string, std::function<void()>, std::less<>> meanings = this->meanings();
    for (const Flag& flag : flags_) {
      flag_ = &flag;
      const auto found = meanings.find(flag.name);
      if (found == meanings.end()) {
        file_.ignored.push_back("--" + flag.name);
        continue;
      }
      found->second();
      if (error_) return *error_;
    }
    finish();
    if (error_) return *error_;
    return std::move(file_);
  }

 private:
  using Meanings = std::map<std::string, std::function<void()>, std::less<>>;

  std::int64_t number(std::int64_t most = kMostInPlan) {
    const std::optional<std::int64_t> value = parse_whole(flag_->value.value_or(""));
    if (value && *value >= 1 && *value <= most) return *value;
    refuse(fmt::format("a whole number from 1 to {}", most));
    return 1;
  }
  void refuse(std::string_view expected) {
    error_ = bad_value(where_, "--" + flag_->name, expected, flag_->value.value_or("nothing"));
  }
  /// One of the words, by its place; 0 and an error where it is none of them.
  std::size_t one_of(std::initializer_list<std::string_view> words) {
    const auto found = std::find(words.begin(), words.end(), flag_->value.value_or(""));
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    refuse(fmt::format("one of {}", fmt::join(words, ", ")));
    return 0;
  }

  template <typename Number>
  std::function<void()> set(Number& target) {
    return [this, &target] { target = static_cast<Number>(number()); };
  }
  std::function<void()> set(bool& target, bool value = true) {
    return [&target, value] { target = value; };
  }

  Meanings meanings() {
    Meanings all;
    degrees(all);
    batches(all);
    memory(all);
    precision(all);
    return all;
  }

  void degrees(Meanings& all) {
    Plan& plan = file_.plan;
    all["tensor-model-parallel-size"] = all["tp"] = set(plan.tp);
    all["pipeline-model-parallel-size"] = all["pp"] = set(plan.pp);
    all["context-parallel-size"] = all["cp"] = set(plan.cp);
    all["expert-model-parallel-size"] = all["ep"] = set(plan.ep);
    all["expert-tensor-parallel-size"] = all["etp"] = set(plan.etp);
    all["num-virtual-stages-per-pipeline-rank"] = all["vpp"] = set(plan.vpp);
    all["num-layers-per-virtual-pipeline-stage"] = set(layers_per_virtual_stage_);
    all["num-layers"] = set(layers_);
    all["decoder-first-pipeline-num-layers"] = set(first_);
    all["decoder-last-pipeline-num-layers"] = set(last_);
    all["account-for-embedding-in-pipeline-split"] = set(plan.count_embedding);
    all["account-for-loss-in-pipeline-split"] = set(plan.count_loss);
    all["pipeline-model-parallel-layout"] = [this] {
      const auto layout = parse_layout(flag_->value.value_or(""));
      if (layout) file_.plan.stage_layers = *layout;
      if (!layout) refuse("stages such as Et*3|t*4|t*3L");
    };
    all["sequence-parallel"] = all["sp"] = set(plan.sequence_parallel);
    all["cp-comm-type"] = [this] {
      constexpr ContextKind kKinds[] = {ContextKind::kRing, ContextKind::kAllGather,
                                        ContextKind::kUlysses};
      file_.plan.context = kKinds[one_of({"p2p", "all_gather", "a2a"})];
    };
    all["nproc-per-node"] = set(per_node_);
    all["nnodes"] = set(nodes_);
  }

  void batches(Meanings& all) {
    Plan& plan = file_.plan;
    all["micro-batch-size"] = set(plan.micro_batch);
    all["global-batch-size"] = set(plan.global_batch);
    all["seq-length"] = set(plan.sequence);
    all["overlap-grad-reduce"] = set(plan.overlap.gradients);
    all["overlap-param-gather"] = set(plan.overlap.weights);
    all["tp-comm-overlap"] = set(plan.overlap.tensor);
    all["no-overlap-p2p-communication"] = set(plan.overlap.pipeline, false);
    all["overlap-moe-expert-parallel-comm"] = set(plan.overlap.experts);
  }

  void memory(Meanings& all) {
    Plan& plan = file_.plan;
    all["use-distributed-optimizer"] = [this] {
      file_.plan.zero = std::max(file_.plan.zero, Zero::kOptimizer);
    };
    all["use-torch-fsdp2"] = [this] { file_.plan.zero = Zero::kWeights; };
    all["data-parallel-sharding-strategy"] = [this] {
      file_.plan.zero =
          static_cast<Zero>(one_of({"no_shard", "optim", "optim_grads", "optim_grads_params"}));
    };
    all["num-distributed-optimizer-instances"] = set(file_.replicas);
    all["recompute-activations"] = [this] { file_.plan.recompute = Recompute::kSelective; };
    all["recompute-granularity"] = [this] {
      file_.plan.recompute = static_cast<Recompute>(1 + one_of({"selective", "full"}));
    };
    all["recompute-method"] = [this] { block_ = one_of({"uniform", "block"}) == 1; };
    all["recompute-num-layers"] = set(plan.recompute_layers);
    all["recompute-modules"] = [this] { read_modules(); };
    all["use-flash-attn"] = set(plan.flash_attention);
    all["attention-backend"] = [this] {
      constexpr std::size_t kUnfused = 0;
      file_.plan.flash_attention =
          one_of({"unfused", "flash", "fused", "auto", "local"}) != kUnfused;
    };
    all["accumulate-allreduce-grads-in-fp32"] = set(plan.fp32_gradients);
    all["optimizer"] = [this] {
      file_.plan.optimizer = static_cast<OptimizerKind>(one_of({"adam", "sgd", "muon"}));
    };
    all["lora-rank"] = set(plan.lora_rank);
  }

  void precision(Meanings& all) {
    all["bf16"] = [this] {
      file_.plan.precision = std::max(file_.plan.precision, Precision::kBf16);
      file_.plan.fp32_gradients = true;
    };
    all["fp16"] = [this] {
      file_.plan.precision = std::max(file_.plan.precision, Precision::kFp16);
    };
    all["fp8-format"] = [this] {
      file_.plan.precision = std::max(file_.plan.precision, Precision::kFp8);
    };
    all["fp8-recipe"] = [this] {
      constexpr Precision kRecipes[] = {Precision::kFp8, Precision::kFp8, Precision::kMxfp8,
                                        Precision::kFp8Block};
      file_.plan.precision = kRecipes[one_of({"delayed", "tensorwise", "mxfp8", "blockwise"})];
    };
    all["fp4-format"] = [this] { file_.plan.precision = Precision::kNvfp4; };
  }

  void read_modules() {
    constexpr std::pair<std::string_view, std::uint8_t> kModules[] = {
        {"core_attn", kRecomputeCoreAttention},
        {"layernorm", kRecomputeNorm},
        {"moe_act", kRecomputeActivation},
        {"mlp", kRecomputeMlp},
        {"moe", kRecomputeMlp},
        {"mla_up_proj", kRecomputeLatentUp},
    };
    file_.plan.recompute_modules = 0;
    for (const std::string& word : shell_words(flag_->value.value_or(""))) {
      const auto found = std::find_if(std::begin(kModules), std::end(kModules),
                                      [&](const auto& module) { return module.first == word; });
      if (found == std::end(kModules)) {
        return refuse("core_attn, layernorm, moe_act, mlp, moe or mla_up_proj");
      }
      file_.plan.recompute_modules |= found->second;
    }
  }

  void finish() {
    Plan& plan = file_.plan;
    if (layers_per_virtual_stage_ > 0) {
      if (layers_ == 0) {
        error_ = Diagnostic{ErrorCode::kBadInput, where_,
                            "--num-layers-per-virtual-pipeline-stage without --num-layers",
                            "add --num-layers, or give --num-virtual-stages-per-pipeline-rank"};
        return;
      }
      const std::int64_t stages = plan.pp * layers_per_virtual_stage_;
      plan.vpp = static_cast<unsigned>(std::max<std::int64_t>(layers_ / stages, 1));
    }
    if (!plan.stage_layers.empty() && plan.stage_layers.size() % plan.pp == 0) {
      plan.vpp = static_cast<unsigned>(plan.stage_layers.size() / plan.pp);
    }
    if (plan.vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
    if (plan.tp == 1) plan.sequence_parallel = false;
    if (plan.recompute != Recompute::kFull || !block_) plan.recompute_layers = 0;
    uneven_ends();
    if (per_node_ > 0)
      file_.chips = static_cast<unsigned>(per_node_ * std::max<std::int64_t>(nodes_, 1));
    if (plan.global_batch == 0) {
      file_.assumed.push_back("no --global-batch-size: one microbatch for each replica");
    }
  }

  /// --decoder-first/last-pipeline-num-layers: the rest is dealt evenly.
  void uneven_ends() {
    Plan& plan = file_.plan;
    if (first_ == 0 && last_ == 0) return;
    const std::int64_t ends = (first_ > 0 ? 1 : 0) + (last_ > 0 ? 1 : 0);
    const std::int64_t middle = std::int64_t{plan.pp} - ends;
    const std::int64_t left = layers_ - first_ - last_;
    if (layers_ == 0 || plan.vpp > 1 || middle < 1 || left < 0 || left % middle != 0 ||
        plan.pp > layers_) {
      file_.assumed.push_back(
          "layers of the first and last stage are left out: they need --num-layers, no virtual "
          "stages, and an even rest");
      return;
    }
    plan.stage_layers.assign(plan.pp, static_cast<unsigned>(left / middle));
    if (first_ > 0) plan.stage_layers.front() = static_cast<unsigned>(first_);
    if (last_ > 0) plan.stage_layers.back() = static_cast<unsigned>(last_);
  }

  std::vector<Flag> flags_;
  std::string where_;
  PlanFile file_;
  const Flag* flag_ = nullptr;
  std::optional<Diagnostic> error_;
  std::int64_t layers_ = 0, layers_per_virtual_stage_ = 0, first_ = 0, last_ = 0;
  std::int64_t per_node_ = 0, nodes_ = 0;
  bool block_ = false;
};

}  // namespace

Result<PlanFile> read_megatron(std::string_view text, const std::string& where) {
  return MegatronReader(text, where).run();
}

}  // namespace flopcast::parallel
