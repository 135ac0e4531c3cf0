// torchtitan's TOML and JSON: parallelism, training, activation_checkpoint, model, quantize.*.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

class TorchtitanReader {
 public:
  explicit TorchtitanReader(const LaunchText& text) : reader_(text, file_) {
    file_.launcher = Launcher::kTorchtitan;
    file_.plan.global_batch = 0;
    file_.plan.schedule = ScheduleKind::kOneFOneB;
  }

  Result<PlanFile> run() {
    degrees();
    data_parallel();
    batch();
    pipeline();
    memory();
    precision();
    if (!reader_.truth("training.compile", true) || !reader_.truth("compile.enable", true)) {
      file_.unmodelled.emplace_back("compile: kernels as of the software's profile");
    }
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kTorchtitan))) return *problem;
    return std::move(file_);
  }

 private:
  void degrees() {
    Plan& plan = file_.plan;
    const auto degree = [&](std::string_view key) {
      return static_cast<unsigned>(reader_.number(fmt::format("parallelism.{}", key), 1));
    };
    plan.tp = degree("tensor_parallel_degree");
    plan.cp = degree("context_parallel_degree");
    plan.pp = degree("pipeline_parallel_degree");
    plan.ep = degree("expert_parallel_degree");
    plan.etp = degree("expert_tensor_parallel_degree");
    plan.sequence_parallel = plan.tp > 1;
    plan.overlap.tensor = reader_.truth("parallelism.enable_async_tensor_parallel", false);
    const std::string rotate =
        reader_.word("parallelism.context_parallel_rotate_method", "allgather");
    if (rotate != "allgather" && rotate != "alltoall") {
      reader_.refuse("parallelism.context_parallel_rotate_method", "allgather or alltoall");
    }
    // "alltoall" passes the keys and values of one chip to the next: a ring.
    plan.context = rotate == "alltoall" ? ContextKind::kRing : ContextKind::kAllGather;
  }

  void data_parallel() {
    Plan& plan = file_.plan;
    const std::int64_t replicas = reader_.number("parallelism.data_parallel_replicate_degree", 1);
    const std::int64_t shards =
        reader_.number("parallelism.data_parallel_shard_degree", -1, {}, -1);
    if (shards == 0) reader_.refuse("parallelism.data_parallel_shard_degree", "-1, or at least 1");
    plan.zero = shards == 1 && plan.cp == 1 ? Zero::kNone : Zero::kWeights;
    if (plan.zero == Zero::kWeights && replicas > 1) {
      file_.replicas = static_cast<unsigned>(replicas);
    }
    if (shards > 0) {
      plan.dp = static_cast<unsigned>(std::min(replicas * shards, kMostInPlan));
      const std::int64_t chips = std::int64_t{plan.dp} * plan.tp * plan.cp * plan.pp;
      file_.chips = chips <= kMostInPlan ? static_cast<unsigned>(chips) : 0;
    }
    const std::string reshard = reader_.word("parallelism.fsdp_reshard_after_forward", "default");
    plan.reshard = reshard == "always" || (reshard == "default" && plan.pp == 1);
  }

  void batch() {
    Plan& plan = file_.plan;
    const std::int64_t local = reader_.number("training.local_batch_size|training.batch_size", 8);
    const std::int64_t global = reader_.number("training.global_batch_size", -1, {}, -1);
    plan.sequence = reader_.number("training.seq_len", 2048);
    plan.micro_batch =
        plan.pp > 1 ? reader_.number("parallelism.pipeline_parallel_microbatch_size", 1) : local;
    if (local % plan.micro_batch != 0) {
      reader_.refuse("training.local_batch_size",
                     "a multiple of pipeline_parallel_microbatch_size");
    }
    file_.accumulation = std::max<std::int64_t>(local / plan.micro_batch, 1);
    if (global > 0) plan.global_batch = global;
    plan.lora_rank = 0;
  }

  void pipeline() {
    Plan& plan = file_.plan;
    if (plan.pp == 1) return;
    const std::string schedule =
        reader_.word("parallelism.pipeline_parallel_schedule", "Interleaved1F1B");
    const std::optional<ScheduleKind> kind = parse_schedule_kind(schedule);
    if (!kind) {
      return reader_.refuse("parallelism.pipeline_parallel_schedule",
                            "GPipe, 1F1B, Interleaved1F1B, ZBVZeroBubble or DualPipeV");
    }
    plan.schedule = *kind;
    if (*kind == ScheduleKind::kZeroBubbleV || *kind == ScheduleKind::kDualPipeV ||
        *kind == ScheduleKind::kInterleaved) {
      plan.vpp = 2;
      if (*kind == ScheduleKind::kInterleaved) {
        file_.assumed.push_back("Interleaved1F1B: two stages on each chip");
      }
    }
  }

  void memory() {
    Plan& plan = file_.plan;
    const std::string mode = reader_.word("activation_checkpoint.mode", "selective");
    const std::string option = reader_.word("activation_checkpoint.selective_ac_option", "op");
    if (mode == "full") {
      plan.recompute = Recompute::kFull;
    } else if (mode == "selective") {
      const std::optional<std::int64_t> every = parse_whole(option);  // of so many layers, one
      plan.recompute = every == 1 ? Recompute::kFull : Recompute::kSelective;
      if (every != 1) plan.recompute_modules = kRecomputeOp;
    } else if (mode != "none") {
      file_.assumed.push_back(fmt::format("activation_checkpoint.mode {}: none", mode));
    }
    const std::string optimizer = reader_.word("optimizer.name", "AdamW");
    if (!optimizer.starts_with("Adam")) {
      file_.assumed.push_back(fmt::format("optimizer {}: two moments, as Adam", optimizer));
    }
  }

  void precision() {
    Plan& plan = file_.plan;
    const std::string type = reader_.word("training.mixed_precision_param", "bfloat16");
    const std::optional<Precision> precision = parse_precision(type);
    if (!precision) return reader_.refuse("training.mixed_precision_param", "bfloat16 or float32");
    plan.precision = *precision;
    const LaunchSetting* converters = reader_.take("model.converters");
    if (converters == nullptr) return;
    for (const std::string& converter : converters->values) {
      if (converter.find("mx") != std::string::npos) plan.precision = Precision::kMxfp8;
      if (converter.find("float8") != std::string::npos) read_float8();
    }
  }

  void read_float8() {
    file_.plan.precision = Precision::kFp8;
    file_.plan.fp8_gather = reader_.truth(
        "quantize.linear.float8.enable_fsdp_float8_all_gather|float8.enable_fsdp_float8_all_gather",
        false);
  }

  PlanFile file_;
  SettingReader reader_;
};

/// What torchtitan runs beside compute: all but what a flag switches.
Overlap torchtitan_overlap(const Plan& plan) {
  Overlap overlap;
  overlap.tensor = plan.overlap.tensor;
  return overlap;
}

std::string_view schedule_name(ScheduleKind kind) {
  constexpr std::string_view kNames[] = {"GPipe", "1F1B",          "Interleaved1F1B",
                                         "",      "ZBVZeroBubble", "DualPipeV"};
  return kNames[static_cast<int>(kind)];
}

void write_parallelism(const Plan& plan, PlanText& out) {
  const unsigned shard = plan.shard == 0 ? plan.dp * plan.cp : plan.shard;
  const unsigned replicas =
      plan.zero == Zero::kWeights ? plan.dp * plan.cp / std::max(shard, 1u) : plan.dp;
  out.text += "[parallelism]\n";
  const auto add = [&](std::string_view key, auto value) {
    out.text += fmt::format("{} = {}\n", key, value);
  };
  add("data_parallel_replicate_degree", replicas);
  add("data_parallel_shard_degree", plan.dp / std::max(replicas, 1u));
  if (!plan.reshard && plan.pp == 1) add("fsdp_reshard_after_forward", "\"never\"");
  if (plan.reshard && plan.pp > 1) add("fsdp_reshard_after_forward", "\"always\"");
  add("tensor_parallel_degree", plan.tp);
  if (plan.overlap.tensor) add("enable_async_tensor_parallel", true);
  add("context_parallel_degree", plan.cp);
  if (plan.context == ContextKind::kRing) add("context_parallel_rotate_method", "\"alltoall\"");
  add("expert_parallel_degree", plan.ep);
  add("expert_tensor_parallel_degree", plan.expert_tp());
  add("pipeline_parallel_degree", plan.pp);
  if (plan.pp == 1) return;
  const std::string_view schedule = schedule_name(plan.schedule);
  if (!schedule.empty()) add("pipeline_parallel_schedule", fmt::format("\"{}\"", schedule));
  add("pipeline_parallel_microbatch_size", plan.micro_batch);
}

void write_training(const Plan& plan, PlanText& out) {
  const std::int64_t local = plan.pp > 1 ? plan.global_batch / plan.dp : plan.micro_batch;
  out.text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n", local,
                          plan.global_batch);
  if (plan.sequence > 0) out.text += fmt::format("seq_len = {}\n", plan.sequence);
  if (plan.precision <= Precision::kTf32) out.text += "mixed_precision_param = \"float32\"\n";
  if (plan.precision == Precision::kFp8) {
    out.text += "\n[model]\nconverters = [\"quantize.linear.float8\"]\n";
    out.text += fmt::format("\n[quantize.linear.float8]\nenable_fsdp_float8_all_gather = {}\n",
                            plan.fp8_gather);
  }
  if (plan.precision == Precision::kMxfp8) {
    out.text += "\n[model]\nconverters = [\"quantize.linear.mx\"]\n";
  }
  constexpr std::string_view kModes[] = {"none", "selective", "full"};
  out.text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n",
                          kModes[static_cast<int>(plan.recompute)]);
}

}  // namespace

void lost_in_torchtitan(const Plan& plan, Lose note, void* to) {
  const auto lose = [&](bool lost, std::string_view what) { note(to, lost, what, {}); };
  const bool folded =
      plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
  lose(plan.tensor != TensorKind::kOneD, "2-D tensor parallelism");
  lose(plan.tp > 1 && !plan.sequence_parallel, "tensor without sequence parallelism");
  lose(plan.context == ContextKind::kUlysses && plan.cp > 1, "Ulysses context parallelism");
  lose(plan.pp > 1 && schedule_name(plan.schedule).empty(), "the schedule zb-h1");
  lose(plan.vpp > 2 && !folded, "more than two virtual stages");
  lose(!plan.stage_layers.empty() || plan.count_embedding || plan.count_loss,
       "layers of each stage");
  lose(plan.zero == Zero::kOptimizer || plan.zero == Zero::kGradients, "ZeRO stages 1 and 2");
  lose(plan.zero == Zero::kWeights && plan.dp * plan.cp == 1, "ZeRO 3 of a single replica");
  lose(plan.zero == Zero::kNone && plan.cp > 1, "replicated weights with context parallelism");
  lose(plan.shard > 0 && plan.shard % plan.cp != 0, "a shard smaller than cp");
  lose(plan.precision == Precision::kFp16 || plan.precision == Precision::kTf32 ||
           plan.precision == Precision::kFp8Block || plan.precision >= Precision::kNvfp4,
       "the precision");
  lose(plan.recompute == Recompute::kSelective && plan.recompute_modules != kRecomputeOp,
       "which modules are recomputed");
  lose(plan.recompute_layers > 0, "how many layers are recomputed");
  lose(!plan.flash_attention, "unfused attention");
  lose(!plan.fp32_gradients || !plan.fp32_master, "16-bit gradients or optimiser");
  lose(plan.optimizer != OptimizerKind::kAdam, "the optimiser");
  lose(plan.lora_rank > 0, "adapters");
  lose(plan.mtp_layers > 0, "multi-token prediction");
  lose(plan.split_master || plan.moment_bytes > 0, "a precision-aware optimizer");
  lose(plan.offload > 0, "an optimizer on the host");
  lose(plan.overlap != torchtitan_overlap(plan), "what overlaps");
  lose(plan.zero == Zero::kNone && plan.shard > 0, "a shard of nothing");
}

Result<PlanFile> read_torchtitan(const LaunchText& text) { return TorchtitanReader(text).run(); }

PlanText write_torchtitan(const Plan& plan) {
  PlanText out;
  write_parallelism(plan, out);
  write_training(plan, out);
  return out;
}

}  // namespace flopcast::parallel
