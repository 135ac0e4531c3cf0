// Launchers that take Megatron-LM's flags as they are, with some of their own: slime, Pai-Megatron-Patch,
// Megatron-LLaMA.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/numbers.h"
#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

/// Chips of slime's actor: it has its own words for both numbers.
constexpr Rename kSlimeNames[] = {
    {"actor-num-nodes", "nnodes"},
    {"actor-num-gpus-per-node", "nproc-per-node"},
};

/// Samples are as long as they are: what packs them says how many tokens a microbatch has, not how long one
/// is.
void slime_lengths(const Translator& to, PlanFile& file) {
  if (to.find("use-dynamic-batch-size") != nullptr) {
    const std::string tokens = to.word("max-tokens-per-gpu", "as many tokens as said");
    file.unmodelled.push_back(fmt::format(
        "--use-dynamic-batch-size: microbatches of --micro-batch-size sequences, not of {} tokens",
        readable(tokens)));
  }
  file.plan.sequence = 0;
  file.open.push_back({"seq", "the length of a sample", "that of the data"});
}

/// Megatron-LLaMA's own optimizer shares its states and gathers weights while gradients are reduced.
constexpr Rename kLlamaNames[] = {
    {"overlapped-distributed-optimizer", "use-distributed-optimizer"},
};

}  // namespace

Result<PlanFile> read_slime(const LaunchText& text) {
  Translator to(text);
  to.rename(kSlimeNames);
  to.otherwise("fp16|bf16", "bf16");
  to.otherwise("use-distributed-optimizer", "use-distributed-optimizer");
  const LaunchSetting* model = to.find("hf-checkpoint");
  if (model != nullptr) to.used(*model);
  if (const LaunchSetting* dynamic = to.find("use-dynamic-batch-size")) to.used(*dynamic);
  Result<PlanFile> file = read_megatron(to.take(), Launcher::kSlime);
  if (!file) return file;
  if (model != nullptr && !has_unknown(model->first())) file->model.name = model->first();
  slime_lengths(to, *file);
  file->assumed.emplace_back("the actor's update alone: rollouts and the reference are apart");
  return file;
}

Result<PlanFile> read_pai(const LaunchText& text) { return read_megatron(text, Launcher::kPai); }

Result<PlanFile> read_megatron_llama(const LaunchText& text) {
  Translator to(text);
  to.rename(kLlamaNames);
  if (to.find("overlapped-distributed-optimizer") != nullptr) {
    to.otherwise("overlap-grad-reduce", "overlap-grad-reduce");
    to.otherwise("overlap-param-gather", "overlap-param-gather");
  }
  return read_megatron(to.take(), Launcher::kMegatronLlama);
}

}  // namespace flopcast::parallel
