// axolotl's YAML: names of its own over Hugging Face's Trainer.
#include <fmt/format.h>

#include "base/text/names.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/hugging_face.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

constexpr TrainerDefaults axolotl_defaults() {
  TrainerDefaults defaults;
  defaults.launcher = Launcher::kAxolotl;
  defaults.batch = "micro_batch_size";
  defaults.batch_size = 1;
  defaults.sequence = "sequence_len";
  defaults.tokens = 512;
  defaults.model = "base_model";
  defaults.optimizer = "optimizer";
  defaults.rank = "lora_r";
  defaults.targets = "lora_target_modules";
  return defaults;
}

void refuse_axolotl_methods(SettingReader& settings) {
  for (const std::string_view key : {"rl", "reward_model", "process_reward_model"}) {
    const std::string method = settings.word(key, "");
    if (!method.empty() && parse_truth(method).value_or(true)) {
      settings.refuse(key, "nothing: other methods run a second model in every step");
    }
  }
}

/// bf16 is "auto" where nothing is said, and takes what the chips have.
void read_axolotl_types(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  Plan& plan = trainer.plan();
  const bool fp16 = settings.truth("fp16|float16", false);
  const std::string brain = name_key(settings.word("bf16|bfloat16", fp16 ? "false" : "auto"));
  const bool single = settings.truth("float32", false);
  const bool auto_bf16 = brain == "auto" && trainer.text().site.bf16;
  const bool bf16 = !single && (auto_bf16 || brain == "full" || parse_truth(brain).value_or(false));
  const bool tf32 = name_key(settings.word("tf32", "false")) != "false";
  plan.precision = bf16   ? Precision::kBf16
                   : fp16 ? Precision::kFp16
                   : tf32 ? Precision::kTf32
                          : Precision::kFp32;
  if (brain == "auto" && !fp16 && !single) {
    settings.assume(fmt::format("bf16 \"auto\": {}", auto_bf16 ? "bf16" : "fp32"));
  }
  // The model is loaded in the type of its products, and nothing keeps a copy in 32 bits but FSDP.
  if (bf16 || fp16) trainer.set_mixed_pure();
  if (settings.truth("fp8", false)) {
    plan.precision = Precision::kFp8;
    plan.fp8_gather = settings.truth("fp8_enable_fsdp_float8_all_gather", false);
  }
}

void read_kernels(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  for (const std::string_view key : {"flash_attention", "sdp_attention", "flex_attention",
                                     "xformers_attention", "sage_attention"}) {
    settings.word(key, "");
  }
  if (settings.truth("eager_attention", false)) trainer.plan().flash_attention = false;
  const std::string checkpointing = settings.word("gradient_checkpointing", "false");
  if (checkpointing == "offload" || checkpointing == "offload_disk") {
    trainer.plan().recompute = Recompute::kFull;
    settings.unmodelled("gradient_checkpointing", "inputs of recomputed layers stay on the chip");
  } else if (settings.truth("gradient_checkpointing", false)) {
    trainer.plan().recompute = Recompute::kFull;
  }
}

void read_adapter(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  const std::string adapter = settings.word("adapter", "");
  const bool low_rank = adapter == "lora" || adapter == "qlora";
  if (!adapter.empty() && !low_rank) settings.refuse("adapter", "lora or qlora");
  const std::int64_t rank = settings.number("lora_r", 0, "lora_rank", 0);
  if (low_rank && rank == 0) settings.refuse("lora_r", "the rank of the adapters");
  trainer.read_adapters(low_rank, rank);
}

void read_batches(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  trainer.read_batch();
  const std::int64_t whole = settings.number("batch_size", 0, {}, 0);
  if (settings.has("gradient_accumulation_steps") || whole == 0) return;
  if (whole % trainer.plan().micro_batch != 0) {
    settings.refuse("batch_size", "a multiple of micro_batch_size");
  }
  trainer.file().accumulation = std::max<std::int64_t>(whole / trainer.plan().micro_batch, 1);
}

}  // namespace

Result<PlanFile> read_axolotl(const LaunchText& given) {
  Result<LaunchText> text = with_documents(given, "config");
  if (!text) return text.error();
  Trainer trainer(*std::move(text), axolotl_defaults());
  SettingReader& settings = trainer.settings();
  refuse_axolotl_methods(settings);
  trainer.read_chips();
  read_batches(trainer);
  trainer.read_sequence();
  read_axolotl_types(trainer);
  read_kernels(trainer);
  trainer.read_attention();
  trainer.read_optimizer();
  trainer.read_model();
  trainer.read_quantised();
  trainer.read_compiled();
  trainer.read_sharding();
  trainer.plan().ep = static_cast<unsigned>(settings.number("expert_parallel_size", 1, "ep"));
  if (trainer.plan().ep > 1) trainer.plan().etp = 1;
  read_adapter(trainer);
  const std::string passing = settings.word("ring_attn_func", "varlen_llama3");
  if (passing.find("ring") != std::string::npos || passing.find("zigzag") != std::string::npos) {
    trainer.plan().context = ContextKind::kRing;
  }
  const bool packed = settings.truth("sample_packing", false);
  const bool padded = settings.truth("pad_to_sequence_len", packed);
  if (!packed && !padded) {
    settings.assume(
        "every sequence has sequence_len tokens: without packing they are as long as the data");
  }
  return trainer.finish();
}

}  // namespace flopcast::parallel
