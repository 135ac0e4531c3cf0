// verl: the actor's update of reinforcement learning, and its supervised fine-tuning, on Megatron-Core or
// FSDP. Rollouts, the reference and the critic are no training step, and left out.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/numbers.h"
#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

class VerlReader {
 public:
  explicit VerlReader(const LaunchText& text) : text_(text), reader_(text, file_) {
    file_.launcher = Launcher::kVerl;
    file_.plan.global_batch = 0;
  }

  Result<PlanFile> run() {
    const bool fine_tuning = reader_.has("data.train_batch_size|data.micro_batch_size_per_gpu") &&
                             !reader_.has(
                                 "actor_rollout_ref.actor.ppo_mini_batch_size|"
                                 "actor_rollout_ref.model.path");
    if (fine_tuning) {
      tuning();
    } else {
      actor();
    }
    chips();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kVerl))) return *problem;
    return std::move(file_);
  }

 private:
  static constexpr std::string_view kActor = "actor_rollout_ref.actor.";
  std::string of_actor(std::string_view key) const { return fmt::format("{}{}", kActor, key); }

  void actor() {
    file_.model.name = reader_.word("actor_rollout_ref.model.path", "");
    const std::string strategy = reader_.word(of_actor("strategy"), usual_strategy());
    if (strategy == "megatron") {
      megatron();
    } else if (strategy == "fsdp" || strategy == "fsdp2") {
      fsdp(of_actor("fsdp_config."), of_actor(""));
      recompute("actor_rollout_ref.model.enable_gradient_checkpointing");
    } else {
      reader_.refuse(of_actor("strategy"), "fsdp, fsdp2 or megatron");
    }
    file_.plan.lora_rank = reader_.number("actor_rollout_ref.model.lora_rank", 0, "lora_rank", 0);
    file_.plan.lora_mlp =
        file_.plan.lora_rank > 0 &&
        reader_.word("actor_rollout_ref.model.target_modules", "all-linear") == "all-linear";
    batch();
    reader_.assume("the actor's update alone: rollouts, the reference and the critic are apart");
  }

  /// verl's entry for Megatron has it in the name of its configuration.
  std::string usual_strategy() {
    const bool settings = std::any_of(
        text_.settings.begin(), text_.settings.end(),
        [](const auto& one) { return one.key.starts_with("actor-rollout-ref.actor.megatron."); });
    const std::string config = reader_.word("config-name", "");
    return settings || config.find("megatron") != std::string::npos ? "megatron" : "fsdp";
  }

  /// A batch of so many prompts, each answered so many times, is one step of the optimizer.
  void batch() {
    Plan& plan = file_.plan;
    const std::int64_t prompts =
        reader_.number(of_actor("ppo_mini_batch_size"), 256, "global_batch");
    const std::int64_t answers = reader_.number("actor_rollout_ref.rollout.n", 1);
    plan.global_batch = std::min(prompts * answers, kMostInPlan);
    const std::string micro = of_actor("ppo_micro_batch_size_per_gpu");
    plan.micro_batch = reader_.number(micro, 1, "micro_batch");
    const std::int64_t prompt = reader_.number("data.max_prompt_length", 512);
    const std::int64_t answer = reader_.number("data.max_response_length", 512);
    plan.sequence = prompt + answer;
    reader_.assume(fmt::format(
        "every sequence of data.max_prompt_length + data.max_response_length: {} tokens",
        plan.sequence));
    if (!reader_.truth(of_actor("use_dynamic_bsz"), false)) return;
    const std::int64_t tokens = reader_.number(of_actor("ppo_max_token_len_per_gpu"), 16384);
    plan.micro_batch = std::clamp<std::int64_t>(tokens * plan.cp / plan.sequence, 1, kMostInPlan);
    reader_.unmodelled(of_actor("use_dynamic_bsz"),
                       fmt::format("microbatches of {} whole sequences", plan.micro_batch));
  }

  void megatron() {
    Plan& plan = file_.plan;
    const auto key = [&](std::string_view name) {
      return fmt::format("{}megatron.{}", kActor, name);
    };
    const auto degree = [&](std::string_view name, std::string_view setting) {
      return static_cast<unsigned>(reader_.number(key(name), 1, setting));
    };
    plan.tp = degree("tensor_model_parallel_size", "tp");
    plan.pp = degree("pipeline_model_parallel_size", "pp");
    plan.cp = degree("context_parallel_size", "cp");
    plan.ep = degree("expert_model_parallel_size", "ep");
    plan.etp =
        static_cast<unsigned>(reader_.number(key("expert_tensor_parallel_size"), 0, "etp", 1));
    plan.vpp = degree("virtual_pipeline_model_parallel_size", "vpp");
    if (plan.vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
    plan.sequence_parallel = reader_.truth(key("sequence_parallel"), true) && plan.tp > 1;
    plan.zero =
        reader_.truth(key("use_distributed_optimizer"), true) ? Zero::kOptimizer : Zero::kNone;
    plan.context = ContextKind::kRing;
    plan.overlap.gradients = plan.overlap.weights = false;
    precision(reader_.word(key("dtype"), "bfloat16"), key("dtype"));
    megatron_recompute(key("override_transformer_config."));
    for (const std::string_view name : {"param_offload", "grad_offload", "optimizer_offload"}) {
      stays(key(name));
    }
  }

  void megatron_recompute(const std::string& section) {
    Plan& plan = file_.plan;
    const std::string kind = reader_.word(section + "recompute_granularity", "none");
    if (kind == "full") plan.recompute = Recompute::kFull;
    if (kind == "selective") plan.recompute = Recompute::kSelective;
    const std::string method = reader_.word(section + "recompute_method", "uniform");
    const std::int64_t layers = reader_.number(section + "recompute_num_layers", 1);
    if (plan.recompute == Recompute::kFull && method == "block") {
      plan.recompute_layers = static_cast<unsigned>(layers);
    }
  }

  void fsdp(const std::string& config, const std::string& own) {
    Plan& plan = file_.plan;
    plan.zero = Zero::kWeights;
    plan.context = ContextKind::kUlysses;
    plan.cp = static_cast<unsigned>(reader_.number(
        own + "ulysses_sequence_parallel_size|" + config + "ulysses_sequence_parallel_size", 1,
        "cp"));
    const std::int64_t shard = reader_.number(config + "fsdp_size", -1, "shard", -1);
    if (shard > 0) plan.shard = static_cast<unsigned>(shard);
    plan.reshard = reader_.truth(config + "reshard_after_forward", true);
    precision(reader_.word(config + "dtype", "bfloat16"), config + "dtype");
    for (const std::string_view name : {"param_offload", "optimizer_offload"}) {
      stays(config + std::string(name));
    }
    if (reader_.truth(config + "offload_policy", false)) plan.offload = 100;
  }

  void precision(const std::string& type, const std::string& key) {
    const std::optional<Precision> known = parse_precision(type);
    if (known) file_.plan.precision = *known;
    if (!known) reader_.refuse(key, "bfloat16, float16 or float32");
  }

  void recompute(std::string_view key) {
    if (reader_.truth(key, true)) file_.plan.recompute = Recompute::kFull;
  }

  /// What waits on the host while samples are drawn is on the chip in a training step.
  void stays(const std::string& key) {
    if (reader_.truth(key, false)) reader_.unmodelled(key, "on the chip for the whole step");
  }

  void tuning() {
    Plan& plan = file_.plan;
    file_.model.name = reader_.word("model.partial_pretrain|model.path", "");
    plan.global_batch = reader_.number("data.train_batch_size", 256, "global_batch");
    plan.micro_batch = reader_.number("data.micro_batch_size_per_gpu", 4, "micro_batch");
    plan.sequence = reader_.number("data.max_length", 1024, "seq");
    fsdp("model.fsdp_config.", "");
    recompute("model.enable_gradient_checkpointing");
    plan.lora_rank = reader_.number("model.lora_rank", 0, "lora_rank", 0);
    plan.lora_mlp =
        plan.lora_rank > 0 && reader_.word("model.target_modules", "all-linear") == "all-linear";
  }

  void chips() {
    const std::int64_t nodes = reader_.number("trainer.nnodes|nnodes", 1);
    const std::int64_t each = reader_.number("trainer.n_gpus_per_node|nproc_per_node", 0, {}, 0);
    file_.chips = static_cast<unsigned>(std::min(nodes * each, kMostInPlan));
  }

  const LaunchText& text_;
  PlanFile file_;
  SettingReader reader_;
};

}  // namespace

Result<PlanFile> read_verl(const LaunchText& text) { return VerlReader(text).run(); }

}  // namespace flopcast::parallel
