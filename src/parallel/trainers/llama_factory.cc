// LLaMA-Factory: Hugging Face's Trainer with data, adapters and quantisation of its own.
#include <fmt/format.h>

#include "parallel/trainers/documents.h"
#include "parallel/trainers/hugging_face.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

constexpr TrainerDefaults llama_factory_defaults() {
  TrainerDefaults defaults;
  defaults.launcher = Launcher::kLlamaFactory;
  defaults.sequence = "cutoff_len";
  defaults.tokens = 2048;
  defaults.checkpointing = true;
  defaults.rank = "lora_rank";
  defaults.targets = "lora_target";
  return defaults;
}

void refuse_kinds(SettingReader& settings) {
  const std::string stage = settings.word("stage", "sft");
  if (stage != "sft" && stage != "pt") {
    settings.refuse("stage", "sft or pt: other methods run a second model in every step");
  }
  if (settings.has("dist_config.name|model_class|kernel_config.name")) {
    settings.refuse("dist_config.name|model_class|kernel_config.name",
                    "nothing: configurations of LLaMA-Factory's next version are not read");
  }
  constexpr std::string_view kMegatron =
      "tensor_model_parallel_size|pipeline_model_parallel_size|use_mca";
  if (settings.has("tensor_model_parallel_size|pipeline_model_parallel_size") ||
      settings.truth("use_mca", false)) {
    settings.refuse(kMegatron, "false: training on Megatron-Core is not read");
  }
}

/// How many weights are trained.
void read_tuning(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  const std::string kind = settings.word("finetuning_type", "lora");
  if (kind != "lora" && kind != "full" && kind != "freeze") {
    settings.refuse("finetuning_type", "lora, full or freeze");
  }
  if (kind == "freeze") {
    settings.take("freeze_trainable_layers");
    settings.unmodelled("finetuning_type", "all weights are trained");
  }
  constexpr std::int64_t kUsualRank = 8;
  const bool everywhere = !settings.has("lora_target");
  trainer.read_adapters(kind == "lora", kUsualRank);
  if (kind == "lora" && everywhere) trainer.plan().lora_mlp = true;
}

void read_factory_types(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  if (settings.truth("pure_bf16", false)) {
    trainer.plan().precision = Precision::kBf16;
    trainer.set_pure();
  }
  if (settings.truth("fp8", false)) {
    trainer.plan().precision = Precision::kFp8;
    trainer.plan().fp8_gather = settings.truth("fp8_enable_fsdp_float8_all_gather", false);
  }
  if (settings.truth("disable_gradient_checkpointing", false)) {
    trainer.plan().recompute = Recompute::kNone;
  }
  if (settings.word("flash_attn", "auto") == "disabled") trainer.plan().flash_attention = false;
}

}  // namespace

Result<PlanFile> read_llama_factory(const LaunchText& given) {
  Result<LaunchText> text = with_documents(given, "config");
  if (!text) return text.error();
  Trainer trainer(*std::move(text), llama_factory_defaults());
  SettingReader& settings = trainer.settings();
  refuse_kinds(settings);
  trainer.read_common();
  read_tuning(trainer);
  read_factory_types(trainer);
  settings.take("use_muon");
  const bool pretrains = settings.word("stage", "sft") == "pt";
  const bool packed = settings.truth("packing", pretrains) || settings.truth("neat_packing", false);
  if (!packed) {
    settings.assume(
        "every sequence has cutoff_len tokens: without packing they are as long as the data");
  }
  return trainer.finish();
}

}  // namespace flopcast::parallel
