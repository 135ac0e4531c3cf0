// What launchers on Hugging Face's Trainer and accelerate have in common: TRL, LLaMA-Factory and axolotl are
// such with names and defaults of their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flopcast/parallel/files.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

/// Names ('|' between those of one setting) and what holds where nothing is said.
struct TrainerDefaults {
  Launcher launcher = Launcher::kHfTrainer;
  std::string_view batch = "per_device_train_batch_size|per_gpu_train_batch_size";
  std::int64_t batch_size = 8;
  /// of sequences; 0 tokens: only the file can tell, so they are asked for
  std::string_view sequence =
      "model_max_length|max_seq_length|max_seq_len|max_length|cutoff_len|block_size|seq_length|"
      "sequence_length|seq_len|max_sequence_length";
  std::int64_t tokens = 0;
  bool bf16 = false;           ///< mixed precision
  bool checkpointing = false;  ///< whole layers are computed again
  std::string_view model = "model_name_or_path|model_id|base_model|model_name|model";
  std::string_view optimizer = "optim|optimizer";
  std::string_view rank = "lora_r|lora_rank|peft_lora_r";
  std::string_view targets = "lora_target_modules|lora_target|lora_targets|lora_modules";
};

/// Reads one configuration: every part of a plan by a function, which a launcher may do otherwise.
class Trainer {
 public:
  /// @param text the document that the configuration names already ahead of it
  Trainer(LaunchText text, const TrainerDefaults& defaults);

  void read_chips();     ///< processes that torchrun, accelerate or deepspeed start
  void read_batch();     ///< sequences of a pass, passes of a step
  void read_sequence();  ///< tokens, or that they are to be given
  void read_precision();
  void read_recompute();
  void read_attention();
  void read_optimizer();
  void read_model();
  void read_adapters(bool wanted, std::int64_t rank);  ///< `rank` where none is said
  void read_quantised();                               ///< weights of 8 and 4 bits
  void read_compiled();
  /// FSDP, DeepSpeed, Megatron's plug-in, or replicas that keep all. After precision.
  void read_sharding();
  /// Batch and precision of a script that DeepSpeed's document alone tells of. After sharding.
  void take_deepspeed_batch();
  /// All of the above that has not its own way in the launcher.
  void read_common();

  /// Weights in 16 bits and no copy in 32; with products by autocast, so that FSDP makes one.
  void set_pure() { pure_ = true; }
  void set_mixed_pure() { pure_ = mixed_ = true; }
  /// What the configuration leaves to its script or its caller: "give --seq".
  void ask(std::string_view setting, std::string_view flag, std::string_view what);
  Result<PlanFile> finish();

  SettingReader& settings() { return reader_; }
  const LaunchText& text() const { return text_; }
  Plan& plan() { return file_.plan; }
  PlanFile& file() { return file_; }

 private:
  void note_weights();
  void assume_own(const std::string& words);
  // trainers/sharding.cc
  void read_degrees();
  bool read_deepspeed_parts();
  void read_deepspeed_file(const std::string& name);
  void take_deepspeed(const PlanFile& told, const nlohmann::ordered_json& root);
  bool wants_fsdp();
  void read_fsdp();
  void read_fsdp_strategy(bool second);
  void set_strategy(std::string_view word, std::string_view keys);
  void read_megatron_plugin();
  bool has_section(std::string_view prefix) const;

  LaunchText text_;
  TrainerDefaults defaults_;
  PlanFile file_;
  SettingReader reader_;
  std::optional<PlanFile> told_;  ///< by DeepSpeed's document
  std::int64_t nodes_ = 0;        ///< 0: not said
  bool pure_ = false, mixed_ = false, has_deepspeed_ = false;
  bool untyped_ = false;  ///< no type of weights is said
};

/// The launcher's command names a recipe (TRL, LLaMA-Factory, axolotl), and `accelerate launch` its own
/// configuration: both ahead of the command's settings.
Result<LaunchText> with_documents(LaunchText text, std::string_view recipe_flags);

}  // namespace flopcast::parallel
