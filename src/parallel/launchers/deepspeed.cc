// DeepSpeed's JSON. Tensor and pipeline degrees are elsewhere in such a launch, unless autotp or
// Ulysses is used.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"
#include "flopcast/parallel/names.h"
#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

using json = nlohmann::ordered_json;

/// Keys that tell DeepSpeed's configuration, from the most telling on.
constexpr std::string_view kTellingKeys[] = {"train_batch_size",
                                             "train_micro_batch_size_per_gpu",
                                             "zero_optimization",
                                             "gradient_accumulation_steps",
                                             "fp16",
                                             "bf16",
                                             "bfloat16",
                                             "data_types",
                                             "tensor_parallel",
                                             "sequence_parallel_size",
                                             "activation_checkpointing",
                                             "zero_allow_untested_optimizer",
                                             "gradient_clipping",
                                             "steps_per_print",
                                             "comms_logger"};
/// Others of its keys, which configurations of others have too.
constexpr std::string_view kOtherKeys[] = {"optimizer",
                                           "scheduler",
                                           "communication_data_type",
                                           "prescale_gradients",
                                           "gradient_predivide_factor",
                                           "sparse_gradients",
                                           "amp",
                                           "zero_force_ds_cpu_optimizer",
                                           "aio",
                                           "wall_clock_breakdown",
                                           "dump_state",
                                           "autotuning",
                                           "flops_profiler",
                                           "sparse_attention",
                                           "data_efficiency",
                                           "curriculum_learning",
                                           "tensorboard",
                                           "wandb",
                                           "comet",
                                           "csv_monitor",
                                           "elasticity",
                                           "compression_training",
                                           "checkpoint",
                                           "pipeline",
                                           "progressive_layer_drop",
                                           "eigenvalue",
                                           "hybrid_engine",
                                           "compile",
                                           "memory_breakdown",
                                           "seed",
                                           "torch_autocast",
                                           "moe"};

class DeepspeedReader {
 public:
  explicit DeepspeedReader(const LaunchText& text)
      : root_(text.document), bf16_(text.site.bf16), reader_(text, file_) {
    file_.launcher = Launcher::kDeepspeed;
    Plan& plan = file_.plan;
    plan.global_batch = 0;
    plan.fp32_gradients = false;
    plan.context = ContextKind::kUlysses;
  }

  Result<PlanFile> run() {
    Plan& plan = file_.plan;
    plan.tp = static_cast<unsigned>(number("tensor_parallel.autotp_size", 1));
    plan.cp = static_cast<unsigned>(number("sequence_parallel_size", 1));
    plan.zero = static_cast<Zero>(std::min<std::int64_t>(number("zero_optimization.stage", 0), 3));
    plan.overlap.gradients = flag("zero_optimization.overlap_comm", plan.zero == Zero::kWeights);
    plan.overlap.weights = plan.zero == Zero::kWeights;
    plan.shard = static_cast<unsigned>(number("zero_optimization.mics_shard_size", 0));
    batch();
    precision();
    memory();
    deepspeed_gradients(plan, said("data_types.grad_accum_dtype"), file_.assumed);
    shortened();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kDeepspeed))) return *problem;
    return std::move(file_);
  }

 private:
  /// "auto" leaves it to the trainer, so it says nothing.
  bool said(std::string_view key) {
    const LaunchSetting* found = reader_.take(key);
    return found != nullptr && found->first() != "auto";
  }
  std::int64_t number(std::string_view key, std::int64_t otherwise) {
    const std::int64_t least = std::min<std::int64_t>(otherwise, 1);
    return said(key) ? reader_.number(key, otherwise, {}, least) : otherwise;
  }
  bool flag(std::string_view key, bool otherwise) {
    return said(key) ? reader_.truth(key, otherwise) : otherwise;
  }
  std::string word(std::string_view key, std::string otherwise) {
    return said(key) ? reader_.word(key, otherwise) : std::move(otherwise);
  }

  void batch() {
    Plan& plan = file_.plan;
    const std::int64_t global = number("train_batch_size", 0);
    const std::int64_t accumulation = number("gradient_accumulation_steps", 0);
    plan.micro_batch = number("train_micro_batch_size_per_gpu", 1);
    file_.accumulation = std::max<std::int64_t>(accumulation, 1);
    if (global == 0) return;
    plan.global_batch = global;
    if (accumulation == 0 || !said("train_micro_batch_size_per_gpu")) {
      if (accumulation == 0)
        file_.assumed.push_back("no gradient_accumulation_steps: what the batch leaves");
      return;
    }
    const std::int64_t step = plan.micro_batch * accumulation;
    if (global % step != 0) {
      return reader_.refuse("train_batch_size", "a multiple of micro batch x accumulation steps");
    }
    const std::int64_t chips = global / step * plan.tp * plan.cp;
    plan.dp = static_cast<unsigned>(global / step);
    if (chips <= kMostInPlan) file_.chips = static_cast<unsigned>(chips);
  }

  /// "auto" leaves the choice to the trainer, which takes bf16 where the chip has it.
  bool enabled(std::string_view type) {
    const std::string key = fmt::format("{}.enabled", type);
    for (const std::string_view name : {type, std::string_view(key)}) {
      const LaunchSetting* found = reader_.take(name);
      if (found != nullptr && found->first() == "auto") open_precision_ = true;
    }
    return flag(key, false);
  }

  void precision() {
    Plan& plan = file_.plan;
    plan.precision = Precision::kFp32;
    if (enabled("fp16")) plan.precision = Precision::kFp16;
    if (enabled("bf16") || enabled("bfloat16")) plan.precision = Precision::kBf16;
    if (open_precision_ && plan.precision == Precision::kFp32) {
      const bool narrow = root_.contains("bf16") || root_.contains("bfloat16");
      plan.precision = bf16_ && narrow ? Precision::kBf16 : Precision::kFp16;
      file_.assumed.push_back(fmt::format("precision \"auto\": {}", name(plan.precision)));
    }
    plan.fp32_gradients = word("data_types.grad_accum_dtype", "") == "fp32";
  }

  void memory() {
    Plan& plan = file_.plan;
    const std::string optimizer = name_key(word("optimizer.type", "Adam"));
    if (optimizer.find("sgd") != std::string::npos) plan.optimizer = OptimizerKind::kSgd;
    if (optimizer.find("muon") != std::string::npos) plan.optimizer = OptimizerKind::kMuon;
    constexpr std::string_view kOptimizer = "zero_optimization.offload_optimizer.device";
    constexpr std::string_view kWeights = "zero_optimization.offload_param.device";
    const std::string host = word(kOptimizer, "none");
    if (host != "none") plan.offload = share("zero_optimization.offload_optimizer.ratio");
    if (host == "nvme") file_.unmodelled.emplace_back("offload_optimizer to nvme: host memory");
    const std::string device = word(kWeights, "none");
    if (device != "none") {
      file_.unmodelled.push_back(fmt::format("offload_param {}: weights stay on the chip", device));
    }
  }

  /// In percent; all of it unless said.
  unsigned share(std::string_view key) {
    constexpr unsigned kAll = 100;
    return said(key) ? static_cast<unsigned>(std::lround(reader_.real(key, 1, 0, 1) * kAll)) : kAll;
  }

  /// Sections that change what a step computes, unless they are switched off.
  void shortened() {
    for (const std::string_view name : {"curriculum_learning", "compression_training",
                                        "progressive_layer_drop", "data_efficiency"}) {
      const auto section = root_.find(name);
      if (section == root_.end()) continue;
      if (section->is_object() && section->value("enabled", json(true)) == json(false)) continue;
      file_.unmodelled.push_back(fmt::format("{}: whole sequences through the whole model", name));
    }
  }

  const json& root_;
  bool bf16_ = true, open_precision_ = false;
  PlanFile file_;
  SettingReader reader_;
};

/// What the program tells DeepSpeed, rather than its JSON.
void name_elsewhere(const Plan& plan, PlanText& out) {
  const auto note = [&](bool is, std::string_view name, std::string value, std::string_view where) {
    if (is) out.elsewhere.push_back({std::string(name), std::move(value), std::string(where)});
  };
  note(plan.pp > 1, "pp", std::to_string(plan.pp), "PipelineModule(num_stages=...)");
  note(plan.ep > 1, "ep", std::to_string(plan.ep), "deepspeed.moe.layer.MoE(ep_size=...)");
  note(plan.etp > 0, "etp", std::to_string(plan.etp), "MoE(enable_expert_tensor_parallelism=...)");
  note(plan.recompute == Recompute::kFull, "recompute", "full",
       "deepspeed.checkpointing.checkpoint in the model");
  note(plan.recompute_layers > 0, "recompute_layers", std::to_string(plan.recompute_layers),
       "the layers that call it");
  note(plan.sequence > 0, "seq", std::to_string(plan.sequence), "the data loader");
}

}  // namespace

std::span<const std::string_view> deepspeed_keys() { return kTellingKeys; }

std::string_view deepspeed_key(const json& root) {
  if (!root.is_object()) return {};
  const auto is_in = [](const auto& keys, std::string_view key) {
    return std::ranges::find(keys, key) != std::end(keys);
  };
  std::size_t own = 0;
  for (const auto& [key, value] : root.items())
    own += is_in(kTellingKeys, key) || is_in(kOtherKeys, key);
  if (2 * own < root.size()) return {};
  const auto found =
      std::ranges::find_if(kTellingKeys, [&](std::string_view key) { return root.contains(key); });
  return found == std::end(kTellingKeys) ? std::string_view() : *found;
}

Result<PlanFile> read_deepspeed(const LaunchText& text) { return DeepspeedReader(text).run(); }

PlanText write_deepspeed(const Plan& plan) {
  nlohmann::ordered_json root;
  root["train_batch_size"] = plan.global_batch;
  root["train_micro_batch_size_per_gpu"] = plan.micro_batch;
  root["gradient_accumulation_steps"] = plan.microbatches();
  auto& zero = root["zero_optimization"];
  zero["stage"] = static_cast<int>(plan.zero);
  zero["overlap_comm"] = plan.overlap.gradients;
  if (plan.shard > 0) zero["mics_shard_size"] = plan.shard;
  if (plan.offload > 0) {
    zero["offload_optimizer"] = {{"device", "cpu"}, {"ratio", plan.offload / 100.0}};
  }
  if (plan.precision == Precision::kBf16) root["bf16"]["enabled"] = true;
  if (plan.precision == Precision::kFp16) root["fp16"]["enabled"] = true;
  const std::string_view narrow = plan.precision == Precision::kFp16   ? "fp16"
                                  : plan.precision == Precision::kBf16 ? "bf16"
                                                                       : "";
  if (plan.fp32_gradients || !narrow.empty()) {
    root["data_types"]["grad_accum_dtype"] = plan.fp32_gradients ? "fp32" : narrow;
  }
  if (plan.tp > 1) root["tensor_parallel"]["autotp_size"] = plan.tp;
  if (plan.cp > 1) root["sequence_parallel_size"] = plan.cp;
  constexpr std::string_view kOptimizers[] = {"AdamW", "SGD", "Muon"};
  root["optimizer"]["type"] = kOptimizers[static_cast<int>(plan.optimizer)];
  PlanText out{root.dump(2) + "\n", {}, {}};
  name_elsewhere(plan, out);
  return out;
}

}  // namespace flopcast::parallel
