// NeMo 1: YAML of `trainer` and `model` for megatron_gpt_pretraining.py and its kin, and overrides of it.
#include <fmt/format.h>

#include "base/text/names.h"
#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

constexpr Rename kNemoNames[] = {
    {"trainer.devices", "nproc-per-node"},
    {"trainer.num-nodes", "nnodes"},
    {"model.encoder-seq-length", "seq-length"},
    {"model.data.seq-length", "seq-length"},
    {"model.data.train-ds.max-seq-length", "seq-length"},
    {"model.data.train-ds.micro-batch-size", "micro-batch-size"},
    {"model.data.train-ds.global-batch-size", "global-batch-size"},
    {"model.activations-checkpoint-granularity", "recompute-granularity"},
    {"model.activations-checkpoint-method", "recompute-method"},
    {"model.activations-checkpoint-num-layers", "recompute-num-layers"},
    {"model.ub-tp-comm-overlap", "tp-comm-overlap"},
    {"model.fp8-params", "fp8-param-gather"},
    {"model.use-flash-attention", "use-flash-attn"},
    {"model.optim.overlap-grad-sync", "overlap-grad-reduce"},
    {"model.optim.overlap-param-sync", "overlap-param-gather"},
    {"model.optim.grad-sync-dtype", "main-grads-dtype"},
    {"model.peft.lora-tuning.adapter-dim", "lora-rank"},
};

void nemo_precision(Translator& to) {
  const LaunchSetting* precision = to.find("trainer.precision");
  if (precision == nullptr) return to.otherwise("trainer.precision", "bf16");
  const std::string word = name_key(precision->first());
  if (word.starts_with("bf16")) return to.as(*precision, "bf16", {"true"});
  if (word.starts_with("16")) return to.as(*precision, "fp16", {"true"});
  to.used(*precision);  // 32
}

/// fp8: true, with the format by another switch.
void eight_bits(Translator& to) {
  const LaunchSetting* fp8 = to.find("model.fp8");
  if (fp8 == nullptr) return;
  const bool on = parse_truth(fp8->first()).value_or(true);
  const std::string hybrid = to.word("model.fp8-e4m3", "false") == "true" ? "e4m3" : "hybrid";
  to.as(*fp8, "fp8-format", {on ? hybrid : "false"});
}

void nemo_layers(Translator& to) {
  if (const LaunchSetting* groups = to.find("model.num-query-groups")) {
    to.as(*groups, "num-query-groups");
    to.otherwise("group-query-attention", "group-query-attention");
  }
  if (const LaunchSetting* activation = to.find("model.activation")) {
    const bool gated = activation->first().find("glu") != std::string_view::npos;
    to.as(*activation, gated ? "swiglu" : kReadAlready, {"true"});
  }
  if (const LaunchSetting* norm = to.find("model.normalization")) to.as(*norm, "normalization");
  if (const LaunchSetting* bias = to.find("model.bias")) {
    const bool has = parse_truth(bias->first()).value_or(true);
    to.as(*bias, "disable-bias-linear", {has ? "false" : "true"});
  }
  if (const LaunchSetting* optimizer = to.find("model.optim.name")) {
    const std::string name(optimizer->first());
    const bool shared = name.find("distributed") != std::string::npos;
    to.as(*optimizer, shared ? "use-distributed-optimizer" : kReadAlready, {"true"});
  }
}

/// Without megatron_amp_O2 weights are fp32, cast for every product.
void nemo_weights(const Translator& to, PlanFile& file) {
  if (file.plan.precision <= Precision::kTf32) return;
  const LaunchSetting* amp = to.find("model.megatron-amp-O2");
  if (amp == nullptr) {
    file.assumed.emplace_back(
        "no model.megatron_amp_O2: 16-bit weights with an fp32 copy, as with it");
  } else if (!parse_truth(amp->first()).value_or(true)) {
    file.unmodelled.emplace_back(
        "model.megatron_amp_O2 false: 16-bit weights with an fp32 copy, not fp32 ones that are "
        "cast");
  }
}

}  // namespace

Result<PlanFile> read_nemo1(const LaunchText& text) {
  Translator to(text);
  nemo_precision(to);
  eight_bits(to);
  nemo_layers(to);
  to.rename(kNemoNames);
  const LaunchSetting* scheme = to.find("model.peft.peft-scheme");
  if (scheme != nullptr) to.used(*scheme);
  if (const LaunchSetting* amp = to.find("model.megatron-amp-O2")) to.used(*amp);
  to.section("model.");
  Result<PlanFile> file = read_megatron(to.take(), Launcher::kNemo1);
  if (!file) return file;
  const bool tuned = scheme != nullptr && scheme->first() == "lora";
  if (!tuned) file->plan.lora_rank = 0;
  if (tuned && file->plan.lora_rank == 0) file->plan.lora_rank = 32;
  nemo_weights(to, *file);
  return file;
}

}  // namespace flopcast::parallel
