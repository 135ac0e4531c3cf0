// The block of arguments that Megatron-LM prints when it starts: all of them, with their defaults.
#include <algorithm>

#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

std::string_view value_of(const LaunchSettings& settings, std::string_view key) {
  for (const LaunchSetting& one : settings) {
    if (one.key == key && !one.null) return one.first();
  }
  return {};
}

/// An argument whose default is told even where what it is of is not used: `of` says so, with this value
/// (empty: with any).
struct Idle {
  std::string_view key, of, value;
};
constexpr Idle kIdle[] = {
    {"num-query-groups", "group-query-attention", "True"},
    {"recompute-modules", "recompute-granularity", "selective"},
    {"moe-flex-dispatcher-backend", "moe-token-dispatcher-type", "flex"},
    {"cuda-graph-scope", "external-cuda-graph", "True"},
    {"cuda-graph-modules", "external-cuda-graph", "True"},
    {"fp8-interval", "fp8", ""},
    {"fp8-recipe", "fp8", ""},
    {"microbatch-group-size-per-vp-stage", "virtual-pipeline-model-parallel-size", ""},
    {"microbatch-group-size-per-virtual-pipeline-stage", "virtual-pipeline-model-parallel-size",
     ""},
    {"exp-avg-dtype", "use-precision-aware-optimizer", "True"},
    {"exp-avg-sq-dtype", "use-precision-aware-optimizer", "True"},
};

/// Arguments that say nothing in such a run: those of experts without experts, counts that follow from
/// others, and those of kIdle.
bool is_idle(const LaunchSettings& all, const LaunchSetting& one) {
  const bool dense = value_of(all, "num-experts").empty();
  if (dense && (one.key.starts_with("moe-") || one.key.starts_with("expert-"))) return true;
  if (one.key == "encoder-num-layers") return one.first() == value_of(all, "num-layers");
  return std::any_of(std::begin(kIdle), std::end(kIdle), [&](const Idle& idle) {
    if (idle.key != one.key) return false;
    const std::string_view value = value_of(all, idle.of);
    return idle.value.empty() ? value.empty() : value != idle.value;
  });
}

}  // namespace

Result<PlanFile> read_megatron_log(const LaunchText& text) {
  LaunchText logged = text;
  std::erase_if(logged.settings, [&](const LaunchSetting& one) {
    return one.key != "num-experts" && is_idle(text.settings, one);
  });
  LaunchText flags = Translator(logged).take();
  const bool deepspeed = value_of(text.settings, "deepspeed") == "True";
  return read_megatron(flags, deepspeed ? Launcher::kMegatronDeepspeed : Launcher::kMegatronLm);
}

}  // namespace flopcast::parallel
