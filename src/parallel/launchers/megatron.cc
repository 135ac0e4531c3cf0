// Reads the flags of Megatron-LM, and those that Megatron-DeepSpeed and older releases have instead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/parallel/names.h"
#include "parallel/launchers/texts.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

class MegatronReader {
 public:
  MegatronReader(const LaunchText& text, const LauncherNames& names) : text_(text), names_(names) {
    Plan& plan = file_.plan;
    plan.global_batch = 0;
    plan.zero = Zero::kNone;
    plan.overlap = {false, false, false, true, true, false};
    plan.precision = Precision::kFp32;
    plan.fp32_gradients = false;
    plan.context = ContextKind::kRing;
  }

  Result<PlanFile> run() {
    const Meanings meanings = this->meanings();
    for (const LaunchSetting& flag : text_.settings) {
      flag_ = &flag;
      const auto found = meanings.find(flag.key);
      const bool used = found != meanings.end();
      const bool read = used || flag.key == kReadAlready || is_model_flag(flag.key);
      if (!flag.shown.empty()) sort(flag, read);
      if (!used || flag.null) continue;
      found->second();
      if (error_) return *error_;
    }
    finish();
    if (error_) return *error_;
    return std::move(file_);
  }

  /// Names of the flags that have a meaning for a plan.
  bool knows(std::string_view name) {
    static const Meanings all = this->meanings();
    return all.contains(name);
  }

 private:
  using Meanings = std::map<std::string, std::function<void()>, std::less<>>;

  /// Into one of the four kinds.
  void sort(const LaunchSetting& flag, bool used) {
    const std::string_view instead = names_.instead_of(flag);
    if (!instead.empty()) {
      unmodelled(flag, instead);
    } else if (used) {
      add_once(file_.used, readable(flag.shown));
    } else {
      add_once(names_.ignored(flag.key) ? file_.ignored : file_.unknown, readable(flag.shown));
    }
  }

  void unmodelled(const LaunchSetting& flag, std::string_view instead) {
    add_once(file_.unmodelled, fmt::format("{}: {}", setting_words(flag), instead));
  }

  /// Whether the value is the caller's: then it is noted, and none is read.
  bool left_open(std::string_view setting) {
    if (!has_unknown(flag_->first())) return false;
    const std::string value = readable(flag_->first());
    if (!setting.empty()) {
      file_.open.push_back({std::string(setting), flag_->shown, value});
    } else {
      file_.assumed.push_back(
          fmt::format("{} {}: left out, its value is not in the file", flag_->shown, value));
    }
    return true;
  }

  std::optional<std::int64_t> whole() const {
    std::string text(flag_->first());
    std::erase(text, '_');  // as Python writes them
    return parse_whole(text);
  }
  std::int64_t number() {
    const std::optional<std::int64_t> value = whole();
    if (value && *value >= 1 && *value <= kMostInPlan) return *value;
    refuse(fmt::format("a whole number from 1 to {}", kMostInPlan));
    return 1;
  }
  void refuse(std::string_view expected) {
    error_ = bad_value(text_.where, flag_->shown, expected,
                       flag_->values.empty() ? "nothing" : readable(flag_->first()));
  }
  /// One of the words, by its place; none where it is open, or an error.
  std::optional<std::size_t> one_of(std::initializer_list<std::string_view> words,
                                    std::string_view setting = {}) {
    if (left_open(setting)) return std::nullopt;
    const auto found = std::find(words.begin(), words.end(), flag_->first());
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    refuse(fmt::format("one of {}", fmt::join(words, ", ")));
    return std::nullopt;
  }

  template <typename Number>
  std::function<void()> set(Number& target, std::string_view setting = {}) {
    return [this, &target, setting] {
      if (!left_open(setting)) target = static_cast<Number>(number());
    };
  }
  std::function<void()> set(bool& target, bool value) {
    return [&target, value] { target = value; };
  }
  /// A number of the launcher's: what is none ("auto") says nothing.
  std::function<void()> count(std::int64_t& target) {
    return [this, &target] {
      const std::optional<std::int64_t> value = whole();
      if (value && *value >= 1 && *value <= kMostInPlan) target = *value;
    };
  }

  Meanings meanings() {
    Meanings all;
    degrees(all);
    stages(all);
    batches(all);
    memory(all);
    optimizer(all);
    precision(all);
    deepspeed(all);
    launches(all);
    return all;
  }

  void degrees(Meanings& all) {
    Plan& plan = file_.plan;
    all["tensor-model-parallel-size"] = all["model-parallel-size"] = all["tp"] = set(plan.tp, "tp");
    all["pipeline-model-parallel-size"] = all["pp"] = set(plan.pp, "pp");
    all["context-parallel-size"] = all["cp"] = set(plan.cp, "cp");
    all["expert-model-parallel-size"] = all["ep"] = set(plan.ep, "ep");
    all["expert-tensor-parallel-size"] = all["etp"] = set(plan.etp, "etp");
    all["sequence-parallel"] = all["sp"] = set(plan.sequence_parallel, true);
    all["cp-comm-type"] = [this] { read_exchange(); };
    all["nproc-per-node"] = all["num-gpus"] = count(per_node_);
    all["nnodes"] = all["num-nodes"] = count(nodes_);
    all["world-size"] = count(world_);
  }

  /// Who sends tokens to experts, and what is launched at once.
  void launches(Meanings& all) {
    const auto at_least = [this](DispatcherKind kind) {
      file_.plan.dispatcher = std::max(file_.plan.dispatcher, kind);
    };
    all["moe-enable-deepep"] = [at_least] { at_least(DispatcherKind::kDeepEp); };
    all["moe-token-dispatcher-type"] = [this, at_least] {
      const auto type = one_of({"alltoall", "alltoall_seq", "flex", "allgather"}, "dispatcher");
      if (!type) return;
      constexpr std::size_t kFlex = 2;
      at_least(*type == kFlex ? DispatcherKind::kDeepEp : DispatcherKind::kAllToAll);
    };
    all["moe-flex-dispatcher-backend"] = [this, at_least] {
      if (left_open("dispatcher")) return;
      const auto backend = parse_dispatcher(flag_->first());
      if (!backend) unmodelled(*flag_, "DeepEP");
      at_least(backend.value_or(DispatcherKind::kDeepEp));
    };
    all["enable-cuda-graph"] = all["external-cuda-graph"] = set(file_.plan.cuda_graph, true);
    all["cuda-graph-impl"] = [this] {
      const auto by = one_of({"none", "local", "transformer_engine"}, "cuda_graph");
      if (by) file_.plan.cuda_graph = *by > 0;
    };
  }

  void stages(Meanings& all) {
    Plan& plan = file_.plan;
    all["num-virtual-stages-per-pipeline-rank"] = all["virtual-pipeline-model-parallel-size"] =
        all["vpp"] = set(plan.vpp, "vpp");
    all["num-layers-per-virtual-pipeline-stage"] = set(layers_per_virtual_stage_, "vpp");
    all["num-layers"] = count(layers_);  // -1: as the checkpoint has them
    all["decoder-first-pipeline-num-layers"] = all["num-layers-in-first-pipeline-stage"] =
        set(first_, "layout");
    all["decoder-last-pipeline-num-layers"] = all["num-layers-in-last-pipeline-stage"] =
        set(last_, "layout");
    all["account-for-embedding-in-pipeline-split"] = set(plan.count_embedding, true);
    all["account-for-loss-in-pipeline-split"] = set(plan.count_loss, true);
    all["pipeline-model-parallel-layout"] = [this] {
      if (left_open("layout")) return;
      const auto layout = parse_layout(flag_->first());
      if (layout) file_.plan.stage_layers = *layout;
      if (!layout) refuse("stages such as Et*3|t*4|t*3L");
    };
  }

  void batches(Meanings& all) {
    Plan& plan = file_.plan;
    all["micro-batch-size"] = all["batch-size"] = set(plan.micro_batch, "micro_batch");
    all["global-batch-size"] = set(plan.global_batch, "global_batch");
    all["step-batch-size-schedule"] = [this] { read_schedule(); };
    all["seq-length"] = all["encoder-seq-length"] = set(plan.sequence, "seq");
    all["overlap-grad-reduce"] = set(plan.overlap.gradients, true);
    all["overlap-param-gather"] = set(plan.overlap.weights, true);
    all["tp-comm-overlap"] = set(plan.overlap.tensor, true);
    all["no-overlap-p2p-communication"] = set(plan.overlap.pipeline, false);
    all["overlap-moe-expert-parallel-comm"] = set(plan.overlap.experts, true);
  }

  void memory(Meanings& all) {
    Plan& plan = file_.plan;
    all["use-distributed-optimizer"] = [this] {
      file_.plan.zero = std::max(file_.plan.zero, Zero::kOptimizer);
    };
    all["use-torch-fsdp2"] = [this] { file_.plan.zero = Zero::kWeights; };
    all["data-parallel-sharding-strategy"] = [this] {
      const auto strategy =
          one_of({"no_shard", "optim", "optim_grads", "optim_grads_params"}, "zero");
      if (strategy) file_.plan.zero = static_cast<Zero>(*strategy);
    };
    all["num-distributed-optimizer-instances"] = set(file_.replicas, "shard");
    all["recompute-activations"] = [this] { file_.plan.recompute = Recompute::kSelective; };
    all["checkpoint-activations"] = [this] { file_.plan.recompute = Recompute::kFull; };
    all["recompute-granularity"] = [this] {
      const auto kind = one_of({"selective", "full"}, "recompute");
      if (kind) file_.plan.recompute = static_cast<Recompute>(1 + *kind);
    };
    all["recompute-method"] = [this] {
      if (const auto method = one_of({"uniform", "block"})) block_ = *method == 1;
    };
    all["activations-checkpoint-method"] = [this] {
      const auto method = one_of({"uniform", "block"});
      block_ = method && *method == 1;
      file_.plan.recompute = Recompute::kFull;
    };
    all["recompute-num-layers"] = all["activations-checkpoint-num-layers"] =
        set(plan.recompute_layers, "recompute_layers");
    all["recompute-modules"] = [this] { read_modules(); };
    all["use-flash-attn"] = all["use-flash-attn-v1"] = all["use-flash-attn-v2"] =
        all["use-flash-attn-triton"] = set(plan.flash_attention, true);
    all["attention-backend"] = [this] {
      constexpr std::size_t kUnfused = 0;
      const auto backend =
          one_of({"unfused", "flash", "fused", "auto", "local"}, "flash_attention");
      if (backend) file_.plan.flash_attention = *backend != kUnfused;
    };
    all["lora-rank"] = set(plan.lora_rank, "lora_rank");
    all["mtp-num-layers"] = set(plan.mtp_layers, "mtp_layers");
  }

  void optimizer(Meanings& all) {
    Plan& plan = file_.plan;
    all["accumulate-allreduce-grads-in-fp32"] = set(plan.fp32_gradients, true);
    all["grad-reduce-in-bf16"] = set(narrow_gradients_, true);
    all["main-grads-dtype"] = [this] {
      if (const auto type = one_of({"fp32", "bf16"}); type && *type == 1) narrow_gradients_ = true;
    };
    all["use-precision-aware-optimizer"] = set(precision_aware_, true);
    all["exp-avg-dtype"] = moment(first_moment_);
    all["exp-avg-sq-dtype"] = moment(second_moment_);
    all["optimizer"] = [this] { read_optimizer(); };
    all["optimizer-cpu-offload"] = all["cpu-optimizer"] = set(offloads_, true);
    all["optimizer-offload-fraction"] = [this] {
      if (left_open("offload")) return;
      const std::optional<double> share = parse_number(flag_->first());
      if (!share || *share < 0 || *share > 1) return refuse("a share from 0 to 1");
      offload_percent_ = static_cast<unsigned>(std::lround(*share * 100));
    };
  }

  std::function<void()> moment(unsigned& bytes) {
    return [this, &bytes] {
      constexpr unsigned kBytes[] = {4, 2, 2, 1};
      if (const auto type = one_of({"fp32", "fp16", "bf16", "fp8"})) bytes = kBytes[*type];
    };
  }

  void precision(Meanings& all) {
    all["bf16"] = [this] {
      file_.plan.precision = std::max(file_.plan.precision, Precision::kBf16);
      file_.plan.fp32_gradients = true;
    };
    all["fp16"] = [this] {
      file_.plan.precision = std::max(file_.plan.precision, Precision::kFp16);
    };
    all["fp8-format"] = all["fp8-hybrid"] = all["fp8-e4m3"] = [this] {
      file_.plan.precision = std::max(file_.plan.precision, Precision::kFp8);
    };
    all["fp8-recipe"] = [this] {
      constexpr Precision kRecipes[] = {Precision::kFp8, Precision::kFp8, Precision::kMxfp8,
                                        Precision::kFp8Block};
      const auto recipe = one_of({"delayed", "tensorwise", "mxfp8", "blockwise"}, "precision");
      if (recipe) file_.plan.precision = kRecipes[*recipe];
    };
    all["fp8-param-gather"] = set(narrow_gather_, true);
    all["fp4-format"] = [this] { file_.plan.precision = Precision::kNvfp4; };
  }

  /// What Megatron-DeepSpeed has beside, or instead.
  void deepspeed(Meanings& all) {
    all["deepspeed"] = set(deepspeed_, true);
    all["zero-stage"] = [this] {
      if (const auto stage = one_of({"0", "1", "2", "3"}, "zero")) zero_stage_ = *stage;
    };
    all["moe-expert-parallel-size"] = [this] {
      expert_groups_ = true;
      if (!left_open("ep")) file_.plan.ep = static_cast<unsigned>(number());
    };
    all["enable-expert-tensor-parallelism"] = set(cut_experts_, true);
    all["ds-sequence-parallel-size"] = [this] {
      file_.plan.context = ContextKind::kUlysses;
      if (!left_open("cp")) file_.plan.cp = static_cast<unsigned>(number());
    };
    all["enable-zbh1-pipeline"] = all["enable-zbh1-exact-semantics"] = [this] {
      file_.plan.schedule = ScheduleKind::kZeroBubbleH1;
    };
    all["no-pipeline-parallel"] = [this] { no_pipeline_ = true; };
    all["checkpoint-num-layers"] = [] {};  // layers of a recomputed chunk: as uniform recompute
  }

  /// One kind, or one for each layer.
  void read_exchange() {
    if (left_open("context")) return;
    const std::string_view kind = flag_->first();
    const std::optional<ContextKind> known =
        kind == "a2a+p2p" ? ContextKind::kRing : parse_context_kind(kind);
    if (!known) return refuse("one of p2p, all_gather, a2a, a2a+p2p");
    file_.plan.context = *known;
    if (kind == "a2a+p2p" || flag_->values.size() > 1) {
      unmodelled(*flag_, fmt::format("{} in every layer", name(*known)));
    }
  }

  void read_optimizer() {
    if (left_open("optimizer")) return;
    std::string kind(flag_->first());
    std::transform(kind.begin(), kind.end(), kind.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    offloads_ = offloads_ || kind.starts_with("cpu");
    Plan& plan = file_.plan;
    plan.optimizer = kind.find("muon") != std::string::npos  ? OptimizerKind::kMuon
                     : kind.find("sgd") != std::string::npos ? OptimizerKind::kSgd
                                                             : OptimizerKind::kAdam;
    if (plan.optimizer == OptimizerKind::kAdam && kind.find("adam") == std::string::npos) {
      unmodelled(*flag_, "two moments, as Adam");
    }
  }

  /// "0:384 200B:768": what the batch ends at.
  void read_schedule() {
    if (left_open("global_batch") || flag_->values.empty()) return;
    const std::vector<std::string> steps = shell_words(flag_->values.back());
    const std::string_view last =
        steps.empty() ? std::string_view() : std::string_view(steps.back());
    const std::optional<std::int64_t> batch = parse_whole(last.substr(last.rfind(':') + 1));
    if (!batch || *batch < 1 || *batch > kMostInPlan)
      return refuse("batches such as 0:384 200B:768");
    last_batch_ = *batch;
  }

  void read_modules() {
    constexpr std::pair<std::string_view, std::uint8_t> kModules[] = {
        {"core_attn", kRecomputeCoreAttention},
        {"layernorm", kRecomputeNorm},
        {"moe_act", kRecomputeActivation},
        {"mlp", kRecomputeMlp},
        {"moe", kRecomputeMlp},
        {"mla_up_proj", kRecomputeLatentUp},
        {"shared_experts", 0},
    };
    if (left_open("recompute_modules")) return;
    std::string list = fmt::format("{}", fmt::join(flag_->values, " "));
    for (const char bracket : {'[', ']', ','}) std::replace(list.begin(), list.end(), bracket, ' ');
    file_.plan.recompute_modules = 0;
    for (const std::string& word : shell_words(list)) {
      if (has_unknown(word)) continue;
      const auto found = std::find_if(std::begin(kModules), std::end(kModules),
                                      [&](const auto& module) { return module.first == word; });
      if (found == std::end(kModules)) {
        return refuse("core_attn, layernorm, moe_act, mlp, moe or mla_up_proj");
      }
      file_.plan.recompute_modules |= found->second;
      if (found->second == 0) {
        file_.unmodelled.push_back("--recompute-modules shared_experts: they are kept");
      }
    }
  }

  void finish() {
    Plan& plan = file_.plan;
    virtual_stages();
    if (error_) return;
    if (no_pipeline_) plan.pp = 1;
    if (plan.pp == 1 && !is_open("pp")) plan.schedule = ScheduleKind::kOneFOneB;
    if (plan.vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
    if (plan.tp == 1 && !is_open("tp")) plan.sequence_parallel = false;
    if (plan.recompute != Recompute::kFull || !block_) plan.recompute_layers = 0;
    if (plan.recompute != Recompute::kSelective) plan.recompute_modules = Plan{}.recompute_modules;
    uneven_ends();
    if (expert_groups_) plan.etp = cut_experts_ ? 0 : 1;
    gradients_and_state();
    if (per_node_ > 0) {
      file_.chips = static_cast<unsigned>(
          std::min(per_node_ * std::max<std::int64_t>(nodes_, 1), kMostInPlan));
    }
    if (world_ > 0) file_.chips = static_cast<unsigned>(world_);
    if (plan.global_batch == 0) plan.global_batch = last_batch_;
    if (plan.global_batch == 0 && !is_open("global_batch")) {
      file_.assumed.push_back("no --global-batch-size: one microbatch for each replica");
    }
  }

  bool is_open(std::string_view setting) const {
    return std::any_of(file_.open.begin(), file_.open.end(),
                       [&](const OpenSetting& open) { return open.name == setting; });
  }

  void gradients_and_state() {
    Plan& plan = file_.plan;
    const bool wide = plan.precision == Precision::kFp32;
    const bool eight = plan.precision >= Precision::kFp8;
    if (narrow_gradients_ && plan.precision >= Precision::kBf16) plan.fp32_gradients = false;
    if (plan.precision == Precision::kFp8) plan.fp8_gather = narrow_gather_;
    if (precision_aware_ && !wide) {
      // What remains of fp32 weights lies beside bf16 ones only.
      plan.split_master = plan.precision >= Precision::kBf16 && !(eight && narrow_gather_);
      const unsigned moments = first_moment_ + second_moment_;
      constexpr unsigned kUsual = 8;
      if (moments != kUsual) plan.moment_bytes = moments;
    }
    if (offloads_) plan.offload = offload_percent_;
    if (!deepspeed_ || wide) return;
    plan.zero = static_cast<Zero>(zero_stage_);
    deepspeed_gradients(plan, false, file_.assumed);
  }

  void virtual_stages() {
    Plan& plan = file_.plan;
    if (layers_per_virtual_stage_ > 0) {
      if (layers_ == 0) {
        error_ = Diagnostic{ErrorCode::kBadInput, text_.where,
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

  const LaunchText& text_;
  const LauncherNames& names_;
  PlanFile file_;
  const LaunchSetting* flag_ = nullptr;
  std::optional<Diagnostic> error_;
  std::int64_t layers_ = 0, layers_per_virtual_stage_ = 0, first_ = 0, last_ = 0;
  std::int64_t per_node_ = 0, nodes_ = 0, world_ = 0, last_batch_ = 0;
  std::size_t zero_stage_ = 0;
  unsigned first_moment_ = 4, second_moment_ = 4, offload_percent_ = 100;
  bool block_ = false, narrow_gradients_ = false, narrow_gather_ = false, offloads_ = false;
  bool precision_aware_ = false, deepspeed_ = false, expert_groups_ = false, cut_experts_ = false;
  bool no_pipeline_ = false;
};

}  // namespace

bool is_plan_flag(std::string_view key) {
  for (const std::string_view launched :
       {"nnodes", "num-nodes", "nproc-per-node", "num-gpus", "world-size"}) {
    if (key == launched) return false;
  }
  static const LaunchText kNone;
  static MegatronReader reader(kNone, LauncherNames::of(Launcher::kMegatronLm));
  return reader.knows(key);
}

void deepspeed_gradients(Plan& plan, bool typed, std::vector<std::string>& assumed) {
  if (plan.precision < Precision::kBf16) {
    if (!typed) plan.fp32_gradients = false;
    return;
  }
  // DeepSpeed's BF16_Optimizer adds gradients up in fp32 and shares its states among replicas, which it
  // calls stage 0; with ZeRO proper gradients have the weights' type.
  if (plan.zero == Zero::kNone) {
    plan.zero = Zero::kOptimizer;
    assumed.emplace_back("DeepSpeed's bf16 optimizer at stage 0 shares its states: ZeRO 1");
    if (!typed) plan.fp32_gradients = true;
  } else if (!typed) {
    plan.fp32_gradients = false;
  }
}

Result<PlanFile> read_megatron(const LaunchText& text, Launcher launcher) {
  Result<PlanFile> file = MegatronReader(text, LauncherNames::of(launcher)).run();
  if (!file) return file;
  file->launcher = launcher;
  file->model = read_file_model(text.settings);
  return file;
}

Result<PlanFile> read_megatron_lm(const LaunchText& text) {
  return read_megatron(text, Launcher::kMegatronLm);
}

}  // namespace flopcast::parallel
