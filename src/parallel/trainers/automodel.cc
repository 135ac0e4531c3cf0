// NeMo AutoModel's YAML, and overrides of it on its command line.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "flopcast/parallel/names.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/launchers/texts.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

class AutomodelReader {
 public:
  explicit AutomodelReader(LaunchText text) : text_(std::move(text)), reader_(text_, file_) {
    file_.launcher = Launcher::kAutomodel;
  }

  Result<PlanFile> run() {
    recipe();
    chips();
    degrees();
    strategy();
    batch();
    sequence();
    types();
    adapters();
    model();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kAutomodel))) return *problem;
    return std::move(file_);
  }

 private:
  /// Of many recipes, those with a step of one language model.
  void recipe() {
    const std::string recipe = reader_.word("recipe", "");
    const bool language = recipe.empty() || recipe.find("NextTokenPrediction") != std::string::npos;
    if (!language || recipe.find("Distill") != std::string::npos) {
      reader_.refuse("recipe", "one that trains a language model alone");
    }
    if (reader_.has("flow_matching.adapter_type|data.dataloader._target_")) {
      reader_.fail({ErrorCode::kBadInput, text_.where, "trains a diffusion model",
                    "give a configuration that trains a language model"});
    }
  }

  void chips() {
    const std::int64_t per_node = reader_.number("nproc_per_node", 0);
    const std::int64_t nodes = reader_.number("nnodes", 1);
    const std::int64_t chips = per_node * nodes;
    if (chips > 0 && chips <= kMostInPlan) file_.chips = static_cast<unsigned>(chips);
  }

  /// "none" leaves a size to the others.
  unsigned size(std::string_view name, std::string_view setting, unsigned otherwise = 1) {
    const std::string key = fmt::format("distributed.{}", name);
    const std::string word = name_key(reader_.word(key, "none", setting));
    if (word == "none" || word == "null") return otherwise;
    return static_cast<unsigned>(reader_.number(key, otherwise, setting));
  }

  void degrees() {
    Plan& plan = file_.plan;
    plan.tp = size("tp_size", "tp");
    plan.cp = size("cp_size", "cp");
    plan.pp = size("pp_size", "pp");
    plan.ep = size("ep_size", "ep");
    plan.etp = plan.ep > 1 ? 1 : 0;
    plan.dispatcher = reader_.dispatcher("model.backend.dispatcher", "torch");
    plan.sequence_parallel = reader_.truth("distributed.sequence_parallel", false) && plan.tp > 1;
    plan.overlap.tensor = reader_.truth("distributed.enable_async_tensor_parallel", false);
    const unsigned replicas = size("dp_size", "dp", 0);
    const unsigned copies = size("dp_replicate_size", {});
    if (copies > 1) file_.replicas = copies;
    if (replicas > 0) plan.dp = replicas;
    if (replicas > 0 && file_.chips == 0) file_.chips = chips_of_plan(plan);
    if (plan.pp > 1) pipeline();
  }

  void pipeline() {
    Plan& plan = file_.plan;
    const std::string keys = "distributed.pipeline.pp_schedule|autopipeline.pp_schedule";
    const std::optional<ScheduleKind> kind = parse_schedule_kind(reader_.word(keys, "1F1B"));
    if (!kind) return reader_.refuse(keys, "1F1B, Interleaved1F1B, ZBVZeroBubble or DualPipeV");
    plan.schedule = *kind;
    const bool looped = *kind == ScheduleKind::kInterleaved;
    if (looped || *kind == ScheduleKind::kZeroBubbleV || *kind == ScheduleKind::kDualPipeV) {
      plan.vpp = 2;
    }
    const std::string_view each =
        "distributed.pipeline.layers_per_stage|autopipeline.layers_per_stage";
    if (reader_.number(each, 0, {}, 0) > 0 && looped) {
      reader_.unmodelled(each, "two stages on each chip");
    }
  }

  void strategy() {
    Plan& plan = file_.plan;
    const std::string target = reader_.word("distributed._target_", "");
    const std::string kind = name_key(reader_.word(
        "distributed.strategy", target.find("DDP") != std::string::npos ? "ddp" : "fsdp2"));
    if (kind == "ddp") {
      plan.zero = Zero::kNone;
    } else if (kind == "fsdp2") {
      plan.zero = Zero::kWeights;
    } else if (kind == "megatronfsdp") {
      plan.zero =
          static_cast<Zero>(reader_.number("distributed.zero_dp_strategy", 3, "zero", 0) & 3);
    } else {
      reader_.refuse("distributed.strategy", "fsdp2, megatron_fsdp or ddp");
    }
    plan.reshard = reader_.truth("distributed.reshard_after_forward", plan.pp == 1);
    const std::string again =
        name_key(reader_.word("distributed.activation_checkpointing", "false"));
    if (again == "selective") {
      plan.recompute = Recompute::kSelective;
      plan.recompute_modules = kRecomputeOp;
    } else if (parse_truth(again).value_or(again == "full")) {
      plan.recompute = Recompute::kFull;
    }
  }

  void batch() {
    Plan& plan = file_.plan;
    const std::int64_t local = reader_.number("step_scheduler.local_batch_size", 1, "micro_batch");
    plan.global_batch = reader_.number("step_scheduler.global_batch_size", 0, "global_batch");
    if (plan.global_batch == 0) {
      reader_.refuse("step_scheduler.global_batch_size", "the sequences of a step");
    }
    plan.micro_batch = local;
    if (plan.pp == 1) return;
    plan.micro_batch = reader_.number(
        "distributed.pipeline.pp_microbatch_size|autopipeline.pp_microbatch_size", 1);
  }

  /// Of what is packed, or of made-up data; otherwise the data decides.
  void sequence() {
    const std::int64_t packed = reader_.number("packed_sequence.packed_sequence_size", 0, "seq", 0);
    const std::int64_t made = reader_.number("dataset.seq_len|dataset.seq_length", 0, "seq", 0);
    file_.plan.sequence = packed > 0 ? packed : made;
    if (file_.plan.sequence > 0) return;
    file_.open.push_back({"seq", "--seq", "(tokens of a sequence: the data's)"});
  }

  void types() {
    Plan& plan = file_.plan;
    const std::string type = name_key(reader_.word("model.torch_dtype|model.dtype", "auto"));
    const bool single = type == "float32" || type == "fp32";
    plan.precision = Precision::kBf16;
    // The model is loaded in bf16, and its optimiser keeps no copy in 32 bits.
    if (!single) {
      plan.fp32_master = plan.fp32_gradients = false;
      reader_.assume("weights, gradients and moments in bf16, as the model is loaded");
    }
    const std::string param =
        name_key(reader_.word("distributed.mp_policy.param_dtype", "bfloat16"));
    if (param == "float32" && single) plan.precision = Precision::kFp32;
    reader_.word("distributed.mp_policy.reduce_dtype", "float32");
    if (reader_.truth("fp8.enabled", reader_.has("fp8.recipe_name"))) {
      plan.precision = Precision::kFp8;
      plan.fp8_gather = reader_.truth("fp8.enable_fsdp_float8_all_gather", false);
    }
    const std::string optimizer = name_key(reader_.word("optimizer._target_", "torch.optim.AdamW"));
    if (optimizer.find("sgd") != std::string::npos) plan.optimizer = OptimizerKind::kSgd;
    if (optimizer.find("muon") != std::string::npos) plan.optimizer = OptimizerKind::kMuon;
    if (reader_.truth("compile.enabled", false) ||
        reader_.truth("distributed.enable_compile", false)) {
      file_.software = "fsdp-compiled";
    }
    plan.mtp_layers = static_cast<unsigned>(reader_.number(
        "model.num_nextn_predict_layers|model.config.num_nextn_predict_layers", 0, {}, 0));
  }

  void adapters() {
    constexpr std::int64_t kUsualRank = 8;
    const bool wanted =
        reader_.has("peft._target_|peft.dim|peft.target_modules|peft.match_all_linear");
    const std::int64_t rank = reader_.number("peft.dim", kUsualRank);
    const bool linear = reader_.truth("peft.match_all_linear", false);
    const LaunchSetting* modules = reader_.take("peft.target_modules");
    if (!wanted) return;
    file_.plan.lora_rank = rank;
    bool forward = linear;
    if (modules != nullptr) {
      for (const std::string& module : modules->values) {
        forward |=
            module.find("proj") != std::string::npos &&
            (module.find("gate") != std::string::npos || module.find("up_") != std::string::npos ||
             module.find("down") != std::string::npos);
        forward |= module == "*_proj" || module == "*proj";
      }
    }
    file_.plan.lora_mlp = forward;
  }

  void model() {
    file_.model.name = reader_.word(
        "model.pretrained_model_name_or_path|model.config.pretrained_model_name_or_path|"
        "model.config.name_or_path|model.config",
        "");
  }

  LaunchText text_;
  PlanFile file_;
  SettingReader reader_;
};

/// Of `automodel finetune llm -c FILE`: a flag of one dash.
std::string short_config(const std::vector<std::string>& words) {
  const auto flag = std::find(words.begin(), words.end(), "-c");
  return flag == words.end() || flag + 1 == words.end() ? std::string() : *(flag + 1);
}

}  // namespace

Result<PlanFile> read_automodel(const LaunchText& given) {
  LaunchText text = given;
  const std::string named = short_config(text.words);
  if (!named.empty()) text.settings.push_back(flag_setting("config", {named}));
  if (auto problem = open_document(text, "config")) return *problem;
  std::erase_if(text.settings, [](const LaunchSetting& one) { return one.key == "config"; });
  return AutomodelReader(std::move(text)).run();
}

}  // namespace flopcast::parallel
