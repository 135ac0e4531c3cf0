// ms-swift's Megatron: `megatron sft`, `pt` and `rlhf`. Megatron-LM's names where it has the thing, its own
// for data, models and adapters; bf16, a distributed optimizer and selective recomputation unless told.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

constexpr Rename kSwiftNames[] = {
    {"max-length", "seq-length"},
    {"overlap-p2p-comm", "overlap-p2p-comm"},
    {"microbatch-group-size-per-vp-stage", "microbatch-group-size-per-virtual-pipeline-stage"},
};

void swift_defaults(Translator& to, const LaunchText& text) {
  to.otherwise("use-distributed-optimizer", "use-distributed-optimizer");
  to.otherwise("recompute-granularity", "recompute-granularity", {"selective"});
  to.otherwise("global-batch-size", "global-batch-size", {"16"});
  to.otherwise("expert-tensor-parallel-size", "expert-tensor-parallel-size", {"1"});
  for (const auto& [variable, flag] :
       {std::pair("NPROC_PER_NODE", "nproc-per-node"), std::pair("NNODES", "nnodes")}) {
    const std::string value(text.variable(variable));
    if (!value.empty() && !has_unknown(value)) to.otherwise(flag, flag, {value});
  }
}

/// bf16 unless the type or a flag says another.
void swift_precision(Translator& to) {
  if (const LaunchSetting* type = to.find("torch-dtype")) {
    const std::string word = name_key(type->first());
    if (word == "float16" || word == "fp16") to.as(*type, "fp16", {"true"});
    if (word == "bfloat16" || word == "bf16") to.as(*type, "bf16", {"true"});
    if (word == "float32" || word == "fp32") to.used(*type);
    if (!word.empty()) return;
  }
  to.otherwise("fp16|bf16", "bf16");
}

/// What is not computed again is said by a word here.
void swift_recompute(Translator& to) {
  const LaunchSetting* kind = to.find("recompute-granularity");
  if (kind != nullptr && kind->first() == "none") to.as(*kind, "recompute-granularity", {"false"});
}

struct Adapters {
  bool any = false;
  std::int64_t rank = 8;
};

Adapters adapters(Translator& to) {
  Adapters adapters;
  for (const std::string_view key : {"train-type", "tuner-type"}) {
    const LaunchSetting* type = to.find(key);
    if (type == nullptr) continue;
    adapters.any = type->first().starts_with("lora");
    to.used(*type);
  }
  const LaunchSetting* rank = to.find("lora-rank");
  if (rank != nullptr && !adapters.any)
    to.as(*rank, "lora-alpha");  // of adapters that are not trained
  if (rank == nullptr && adapters.any) to.otherwise("lora-rank", "lora-rank", {"8"});
  return adapters;
}

void note_data(const Translator& to, PlanFile& file) {
  if (file.plan.sequence == 0) {
    file.assumed.emplace_back("no --max_length: sequences as long as the model allows");
  }
  const std::string packing = to.word("packing", "false");
  if (packing == "false" || packing == "False") {
    file.assumed.emplace_back("without --packing: every sequence as long as --max_length");
  }
}

}  // namespace

Result<PlanFile> read_ms_swift(const LaunchText& text) {
  Translator to(text);
  const LaunchSetting* model = to.find("model");
  if (model != nullptr) to.used(*model);
  swift_recompute(to);
  swift_precision(to);
  const Adapters tuned = adapters(to);
  to.rename(kSwiftNames);
  swift_defaults(to, text);
  Result<PlanFile> file = read_megatron(to.take(), Launcher::kMsSwift);
  if (!file) return file;
  if (model != nullptr && !has_unknown(model->first())) file->model.name = model->first();
  if (tuned.any) file->plan.lora_mlp = to.word("target-modules", "all-linear") == "all-linear";
  note_data(to, *file);
  return file;
}

}  // namespace flopcast::parallel
