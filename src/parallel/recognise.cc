#include "parallel/recognise.h"

#include <algorithm>
#include <array>
#include <span>

#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

/// What tells a command: words that stand one after another, the first as a path's end; and a flag or an
/// override that it has. Either may be empty.
struct CommandRow {
  Launcher launcher;
  std::string_view words;
  std::string_view flag = {};
};

// From the most telling to the least: the first that holds counts.
constexpr CommandRow kCommands[] = {
    {Launcher::kMsSwift, "megatron sft"},
    {Launcher::kMsSwift, "megatron pt"},
    {Launcher::kMsSwift, "megatron rlhf"},
    {Launcher::kMsSwift, "_megatron/sft.py"},
    {Launcher::kMsSwift, "_megatron/pt.py"},
    {Launcher::kMsSwift, "_megatron/rlhf.py"},
    {Launcher::kVerl, "verl.trainer.main_ppo"},
    {Launcher::kVerl, "verl.trainer.fsdp_sft_trainer"},
    {Launcher::kVerl, "verl.trainer.sft_trainer"},
    {Launcher::kVerl, "", "actor-rollout-ref.model.path"},
    {Launcher::kSlime, "", "rollout-num-gpus-per-engine"},
    {Launcher::kSlime, "", "rollout-batch-size"},
    {Launcher::kMegatronBridge, "run_recipe.py", "recipe"},
    {Launcher::kMegatronBridge, "setup_experiment.py"},
    {Launcher::kPrimus, "primus/cli/main.py"},
    {Launcher::kPrimus, "primus-cli"},
    {Launcher::kNemo2, "nemo llm"},
    {Launcher::kNemo1, "megatron_gpt_pretraining.py"},
    {Launcher::kNemo1, "megatron_gpt_finetuning.py"},
    {Launcher::kTorchtitan, "torchtitan.train"},
    {Launcher::kTorchtitan, "torchtitan/train.py"},
    {Launcher::kTorchtitan, "run_train.sh"},
    {Launcher::kTorchtitan, "", "job.config-file"},
    {Launcher::kTorchtitan, "", "training.local-batch-size"},
    {Launcher::kLlamaFactory, "llamafactory-cli train"},
    {Launcher::kLlamaFactory, "llamafactory/launcher.py"},
    {Launcher::kLlamaFactory, "", "finetuning-type"},
    {Launcher::kLlamaFactory, "", "cutoff-len"},
    {Launcher::kAxolotl, "axolotl train"},
    {Launcher::kAxolotl, "axolotl.cli.train"},
    {Launcher::kTrl, "trl sft"},
    {Launcher::kTrl, "trl dpo"},
    {Launcher::kTrl, "trl grpo"},
    {Launcher::kTrl, "trl kto"},
    {Launcher::kTrl, "trl reward"},
    {Launcher::kTrl, "trl rloo"},
    {Launcher::kTrl, "scripts/sft.py"},
    {Launcher::kTrl, "scripts/run_sft.py"},
    {Launcher::kNanotron, "run_train.py", "config-file"},
    {Launcher::kAutomodel, "automodel finetune"},
    {Launcher::kAutomodel, "automodel pretrain"},
    {Launcher::kAutomodel, "recipes/llm/train_ft.py"},
    {Launcher::kAutomodel, "llm_finetune/finetune.py"},
    {Launcher::kAutomodel, "llm_pretrain/pretrain.py"},
    {Launcher::kAutomodel, "", "step-scheduler.local-batch-size"},
    {Launcher::kOlmoCore, "", "train-module.rank-microbatch-size"},
    {Launcher::kOlmoCore, "", "data-loader.global-batch-size"},
    {Launcher::kOlmoCore, "", "train-module.max-sequence-length"},
    {Launcher::kMaxtext, "MaxText.train"},
    {Launcher::kMaxtext, "MaxText/train.py"},
    {Launcher::kMaxtext, "maxtext.trainers.pre_train.train"},
    {Launcher::kMaxtext, "trainers/pre_train/train.py"},
    {Launcher::kMaxtext, "train.py", "per-device-batch-size"},
    {Launcher::kMaxtext, "MaxText.sft.sft_trainer"},
    {Launcher::kMaxtext, "maxtext.trainers.post_train.sft.train_sft"},
    {Launcher::kHfTrainer, "", "per-device-train-batch-size"},
    {Launcher::kAccelerate, "accelerate launch"},
    {Launcher::kMegatronLlama, "", "overlapped-distributed-optimizer"},
    {Launcher::kPai, "", "patch-tokenizer-type"},
};

struct ForeignRow {
  std::string_view words, looks, hint;
};
constexpr std::string_view kServe = "give it to flopcast serve";
constexpr std::string_view kByFlags = "give its plan by flags: --tp, --zero, --global-batch ...";
constexpr ForeignRow kForeignCommands[] = {
    {"vllm serve", "a command line of vLLM's server", kServe},
    {"vllm.entrypoints.openai.api_server", "a command line of vLLM's server", kServe},
    {"sglang.launch_server", "a command line of SGLang's server", kServe},
    {"trtllm-serve", "a command line of TensorRT-LLM's server", kServe},
    {"swift sft", "a launch of ms-swift's trainer without Megatron, which is not read", kByFlags},
    {"swift pt", "a launch of ms-swift's trainer without Megatron, which is not read", kByFlags},
    {"swift rlhf", "a launch of ms-swift's trainer without Megatron, which is not read", kByFlags},
    {"openrlhf.cli.train_sft", "a launch of OpenRLHF, which is not read", kByFlags},
    {"openrlhf.cli.train_ppo_ray", "a launch of OpenRLHF, which is not read", kByFlags},
    {"openrlhf.cli.train_dpo", "a launch of OpenRLHF, which is not read", kByFlags},
    {"tune run", "a launch of torchtune, which is not read", kByFlags},
    {"colossalai run", "a launch of ColossalAI, which is not read", kByFlags},
    {"all_reduce_perf", "a run of nccl-tests", "give its output to flopcast calibrate"},
};

/// Whether a word is this one, or a path that ends in it.
bool is_word(std::string_view word, std::string_view wanted) {
  if (!word.ends_with(wanted)) return false;
  return word.size() == wanted.size() || word[word.size() - wanted.size() - 1] == '/';
}

/// Whether `wanted`, words apart by blanks, stand one after another.
bool stand_in(const std::vector<std::string>& words, std::string_view wanted) {
  const std::vector<std::string> all = shell_words(wanted);
  return std::search(words.begin(), words.end(), all.begin(), all.end(), is_word) != words.end();
}

const LaunchSetting* find_flag(const LaunchSettings& settings, std::string_view key) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const LaunchSetting& one) { return one.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

/// Flags of Megatron-LM that programs of other kinds have too.
bool is_common(std::string_view key) {
  constexpr std::string_view kCommon[] = {
      "bf16", "fp16", "batch-size", "optimizer", "seq-length", "tp",         "deepspeed",
      "pp",   "cp",   "ep",         "sp",        "lora-rank",  "num-layers", "zero-stage"};
  return std::find(std::begin(kCommon), std::end(kCommon), key) != std::end(kCommon);
}

/// Whether the words start a program that Megatron-LM does not have: its flags alone tell then.
bool starts_another_program(const std::vector<std::string>& words) {
  const auto is_program = [](const std::string& word) { return word.ends_with(".py"); };
  const auto program = std::find_if(words.begin(), words.end(), is_program);
  if (program == words.end()) return words.empty() || !words[0].starts_with("--");
  return program->find("pretrain_") == std::string::npos;
}

/// What tells a document: a key, dotted where nested, that it has.
struct DocumentRow {
  Launcher launcher;
  std::string_view key, other = {};  ///< both must be there
};
constexpr DocumentRow kDocuments[] = {
    {Launcher::kPrimus, "modules.pre_trainer"},
    {Launcher::kPrimus, "modules.post_trainer"},
    {Launcher::kNemo1, "trainer", "model.micro_batch_size"},
    {Launcher::kNemo1, "trainer", "model.tensor_model_parallel_size"},
    {Launcher::kVerl, "actor_rollout_ref"},
    {Launcher::kMegatronBridge, "model", "train.global_batch_size"},
    {Launcher::kNanotron, "model.model_config"},
    {Launcher::kNanotron, "tokens.batch_accumulation_per_replica"},
    {Launcher::kOlmoCore, "train_module"},
    {Launcher::kAutomodel, "step_scheduler", "model"},
    {Launcher::kAutomodel, "recipe", "model"},
    {Launcher::kAutomodel, "recipe", "recipe_args"},
    {Launcher::kMaxtext, "per_device_batch_size"},
    {Launcher::kMaxtext, "max_target_length"},
    {Launcher::kMaxtext, "base_emb_dim"},
    {Launcher::kAxolotl, "base_model", "micro_batch_size"},
    {Launcher::kAxolotl, "base_model", "sequence_len"},
    {Launcher::kAxolotl, "base_model", "datasets"},
    {Launcher::kLlamaFactory, "finetuning_type"},
    {Launcher::kLlamaFactory, "cutoff_len"},
    {Launcher::kTrl, "model_name_or_path", "per_device_train_batch_size"},
    {Launcher::kTrl, "model_name_or_path", "max_length"},
    {Launcher::kTrl, "model_name_or_path", "max_seq_length"},
    {Launcher::kHfTrainer, "per_device_train_batch_size"},
    {Launcher::kAccelerate, "distributed_type"},
    {Launcher::kAccelerate, "compute_environment"},
    {Launcher::kTorchtitan, "parallelism.data_parallel_shard_degree"},
    {Launcher::kTorchtitan, "parallelism.tensor_parallel_degree"},
    {Launcher::kTorchtitan, "parallelism.pipeline_parallel_degree"},
    {Launcher::kTorchtitan, "activation_checkpoint.mode"},
    {Launcher::kTorchtitan, "training.local_batch_size"},
    {Launcher::kTorchtitan, "training.seq_len"},
    {Launcher::kTorchtitan, "job.config_file"},
    {Launcher::kTorchtitan, "model.flavor"},
    {Launcher::kTorchtitan, "training.batch_size"},
    {Launcher::kTorchtitan, "training.tensor_parallel_degree"},
    {Launcher::kTorchtitan, "training.data_parallel_shard_degree"},
    {Launcher::kTorchtitan, "training.mixed_precision_param"},
    {Launcher::kTorchtitan, "experimental.pipeline_parallel_degree"},
    {Launcher::kTorchtitan, "parallelism.data_parallel_replicate_degree"},
    {Launcher::kTorchtitan, "parallelism.context_parallel_degree"},
};
constexpr std::string_view kPlanFlags = "give the plan by flags: --tp, --zero, --global-batch ...";
constexpr ForeignRow kForeignDocuments[] = {
    {"model_type", "a model's config.json", "name it as MODEL"},
    {"traceEvents", "a recorded trace", "give it to flopcast replay"},
    {"apiVersion", "a description of Kubernetes'", "give the file that the container starts"},
    {"model._component_", "a recipe of torchtune's, which is not read", kPlanFlags},
    {"device_train_microbatch_size", "a run of LLM Foundry's, which is not read", kPlanFlags},
    {"trainer.accelerator", "a run of PyTorch Lightning's, which is not read", kPlanFlags},
    {"train.micro_batch_size", "a run of LitGPT's, which is not read", kPlanFlags},
};

bool has_key(const nlohmann::ordered_json& root, std::string_view key) {
  const nlohmann::ordered_json* at = &root;
  while (!key.empty()) {
    const std::string_view name = key.substr(0, key.find('.'));
    key.remove_prefix(std::min(name.size() + 1, key.size()));
    if (!at->is_object()) return false;
    const auto found = at->find(name);
    if (found == at->end()) return false;
    at = &*found;
  }
  return true;
}

/// A program that nothing is known of, but for the file that it gives DeepSpeed.
std::optional<Recognised> of_deepspeed(const LaunchSettings& flags) {
  for (const LaunchSetting& flag : flags) {
    const bool names =
        (flag.key == "deepspeed" || flag.key == "deepspeed-config" || flag.key == "ds-config") &&
        flag.first().ends_with(".json");
    if (names) return Recognised{Launcher::kDeepspeed, readable(flag.shown), false};
  }
  return std::nullopt;
}

}  // namespace

bool tells_megatron(std::string_view key) { return key.ends_with("-model-parallel-size"); }

std::optional<Recognised> recognise_megatron(const LaunchSettings& flags) {
  const auto first = std::find_if(flags.begin(), flags.end(),
                                  [](const auto& flag) { return is_plan_flag(flag.key); });
  if (first == flags.end()) return std::nullopt;
  const auto has = [&](std::string_view key) { return find_flag(flags, key) != nullptr; };
  const bool deepspeed = has("deepspeed") || has("deepspeed-config") || has("zero-stage") ||
                         has("ds-sequence-parallel-size");
  return Recognised{deepspeed ? Launcher::kMegatronDeepspeed : Launcher::kMegatronLm,
                    readable(first->shown), false};
}

std::optional<Recognised> recognise_command(const std::vector<std::string>& words) {
  if (foreign_command(words)) return std::nullopt;
  const LaunchSettings settings = command_settings(words, CommandStyle::kOverrides);
  for (const CommandRow& row : kCommands) {
    const LaunchSetting* flag = row.flag.empty() ? nullptr : find_flag(settings, row.flag);
    if (!row.flag.empty() && flag == nullptr) continue;
    if (!row.words.empty() && !stand_in(words, row.words)) continue;
    if (row.words.empty()) return Recognised{row.launcher, readable(flag->shown), false};
    return Recognised{row.launcher, std::string(row.words), true};
  }
  const LaunchSettings flags = command_settings(words);
  const bool telling = std::any_of(flags.begin(), flags.end(), [](const LaunchSetting& flag) {
    return is_plan_flag(flag.key) && !is_common(flag.key);
  });
  if (!telling && starts_another_program(words)) return of_deepspeed(flags);
  return recognise_megatron(flags);
}

std::optional<Recognised> recognise_document(const nlohmann::ordered_json& root) {
  for (const DocumentRow& row : kDocuments) {
    if (!has_key(root, row.key)) continue;
    if (!row.other.empty() && !has_key(root, row.other)) continue;
    return Recognised{row.launcher, std::string(row.other.empty() ? row.key : row.other), true};
  }
  const std::string_view key = deepspeed_key(root);
  if (key.empty()) return std::nullopt;
  return Recognised{Launcher::kDeepspeed, std::string(key), true};
}

std::optional<Foreign> foreign_command(const std::vector<std::string>& words) {
  for (const ForeignRow& row : kForeignCommands) {
    if (stand_in(words, row.words)) return Foreign{row.looks, row.hint};
  }
  return std::nullopt;
}

std::optional<Foreign> foreign_document(const nlohmann::ordered_json& root) {
  for (const ForeignRow& row : kForeignDocuments) {
    if (has_key(root, row.words)) return Foreign{row.looks, row.hint};
  }
  return std::nullopt;
}

std::vector<std::string> evidence_of(Launcher launcher) {
  std::vector<std::string> all;
  for (const CommandRow& row : kCommands) {
    if (row.launcher != launcher) continue;
    std::string words(row.words);
    if (!row.flag.empty()) {
      words += (words.empty() ? "" : " ");
      words += (row.flag.find('.') == std::string_view::npos ? "--" : "") + std::string(row.flag);
    }
    all.push_back(std::move(words));
  }
  for (const DocumentRow& row : kDocuments) {
    if (row.launcher != launcher) continue;
    all.push_back("key " + std::string(row.key) +
                  (row.other.empty() ? "" : " with " + std::string(row.other)));
  }
  if (launcher != Launcher::kDeepspeed) return all;
  for (const std::string_view key : deepspeed_keys()) all.push_back("key " + std::string(key));
  return all;
}

CommandStyle command_style(Launcher launcher) {
  constexpr Launcher kOverriding[] = {
      Launcher::kVerl,   Launcher::kNemo1,   Launcher::kNemo2,       Launcher::kMegatronBridge,
      Launcher::kPrimus, Launcher::kMaxtext, Launcher::kLlamaFactory};
  const bool overrides =
      std::find(std::begin(kOverriding), std::end(kOverriding), launcher) != std::end(kOverriding);
  return overrides ? CommandStyle::kOverrides : CommandStyle::kFlags;
}

}  // namespace flopcast::parallel
