// Megatron-LM's launch flags.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <vector>

#include "hardware/names.h"
#include "parallel/plan_texts.h"

namespace flopcast {
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

namespace {

void write_degrees(const Plan& plan, PlanText& out) {
  const auto add = [&](std::string_view flag, std::int64_t value, std::int64_t usual = 1) {
    if (value != usual) out.text += fmt::format("--{} {}\n", flag, value);
  };
  add("tensor-model-parallel-size", plan.tp);
  add("pipeline-model-parallel-size", plan.pp);
  add("context-parallel-size", plan.cp);
  add("expert-model-parallel-size", plan.ep);
  add("expert-tensor-parallel-size", plan.etp, 0);
  if (!plan.stage_layers.empty()) {
    out.text +=
        fmt::format("--pipeline-model-parallel-layout '{}'\n", write_layout(plan.stage_layers));
  } else {
    add("num-virtual-stages-per-pipeline-rank", plan.vpp);
  }
  if (plan.count_embedding) out.text += "--account-for-embedding-in-pipeline-split\n";
  if (plan.count_loss) out.text += "--account-for-loss-in-pipeline-split\n";
  if (plan.sequence_parallel) out.text += "--sequence-parallel\n";
  if (plan.context == ContextKind::kAllGather) out.text += "--cp-comm-type all_gather\n";
  if (plan.context == ContextKind::kUlysses) out.text += "--cp-comm-type a2a\n";
  add("micro-batch-size", plan.micro_batch, 0);
  add("global-batch-size", plan.global_batch, 0);
  add("seq-length", plan.sequence, 0);
}

void write_state(const Plan& plan, PlanText& out) {
  if (plan.zero == Zero::kOptimizer) out.text += "--use-distributed-optimizer\n";
  if (plan.zero > Zero::kOptimizer) {
    out.text += fmt::format(
        "--use-distributed-optimizer\n--use-megatron-fsdp\n--data-parallel-sharding-strategy {}\n",
        plan.zero == Zero::kGradients ? "optim_grads" : "optim_grads_params");
  }
  if (plan.shard > 0) {
    out.text += fmt::format("--num-distributed-optimizer-instances {}\n",
                            std::max(plan.dp * plan.cp / plan.shard, 1u));
  }
  if (plan.overlap.gradients) out.text += "--overlap-grad-reduce\n";
  if (plan.overlap.weights) out.text += "--overlap-param-gather\n";
  if (plan.overlap.tensor) out.text += "--tp-comm-overlap\n";
  if (!plan.overlap.pipeline) out.text += "--no-overlap-p2p-communication\n";
  if (plan.overlap.experts) out.text += "--overlap-moe-expert-parallel-comm\n";
  if (plan.optimizer != OptimizerKind::kAdam) {
    out.text += fmt::format("--optimizer {}\n", name(plan.optimizer));
  }
}

void write_recompute(const Plan& plan, PlanText& out) {
  if (plan.recompute == Recompute::kFull) {
    out.text += fmt::format("--recompute-granularity full\n--recompute-method {}\n",
                            plan.recompute_layers > 0 ? "block" : "uniform");
    out.text += fmt::format("--recompute-num-layers {}\n", std::max(plan.recompute_layers, 1u));
  }
  if (plan.recompute != Recompute::kSelective) return;
  out.text += "--recompute-granularity selective\n";
  if (plan.recompute_modules == kRecomputeCoreAttention) return;
  std::string modules;
  constexpr std::pair<std::uint8_t, std::string_view> kModules[] = {
      {kRecomputeCoreAttention, " core_attn"}, {kRecomputeNorm, " layernorm"},
      {kRecomputeActivation, " moe_act"},      {kRecomputeMlp, " mlp"},
      {kRecomputeLatentUp, " mla_up_proj"},
  };
  for (const auto& [module, word] : kModules) {
    if ((plan.recompute_modules & module) != 0) modules += word;
  }
  out.text += fmt::format("--recompute-modules{}\n", modules);
}

void write_precision(const Plan& plan, PlanText& out) {
  if (plan.precision == Precision::kFp16) out.text += "--fp16\n";
  if (plan.precision >= Precision::kBf16) out.text += "--bf16\n";
  if (plan.precision >= Precision::kFp8 && plan.precision <= Precision::kMxfp8) {
    constexpr std::string_view kRecipes[] = {"tensorwise", "blockwise", "mxfp8"};
    out.text +=
        fmt::format("--fp8-format hybrid\n--fp8-recipe {}\n",
                    kRecipes[static_cast<int>(plan.precision) - static_cast<int>(Precision::kFp8)]);
  }
  if (plan.precision == Precision::kNvfp4) out.text += "--fp4-format e2m1\n";
  if (plan.precision == Precision::kFp16 && plan.fp32_gradients) {
    out.text += "--accumulate-allreduce-grads-in-fp32\n";
  }
  if (!plan.flash_attention) out.text += "--attention-backend unfused\n";
}

void name_lost(const Plan& plan, PlanText& out) {
  const auto lose = [&](bool lost, std::string what) {
    if (lost) out.lost.push_back(std::move(what));
  };
  lose(plan.tensor != TensorKind::kOneD, "2-D tensor parallelism");
  lose(plan.schedule != ScheduleKind::kOneFOneB && plan.schedule != ScheduleKind::kInterleaved,
       fmt::format("the schedule {}", name(plan.schedule)));
  lose(plan.precision == Precision::kTf32, "tf32 (set by the environment)");
  lose(plan.precision >= Precision::kBf16 && !plan.fp32_gradients, "16-bit gradients");
  lose(!plan.fp32_master, "an optimiser without fp32 weights");
  lose(plan.lora_rank > 0, "adapters");
  lose(!plan.reshard, "weights kept after forward");
}

}  // namespace

PlanText write_megatron(const Plan& plan) {
  PlanText out;
  write_degrees(plan, out);
  write_state(plan, out);
  write_recompute(plan, out);
  write_precision(plan, out);
  name_lost(plan, out);
  return out;
}

}  // namespace flopcast
