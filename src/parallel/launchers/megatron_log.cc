// The block of arguments that Megatron-LM prints when it starts: all of them, with their defaults.
#include <algorithm>

#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

bool set_to(const LaunchSettings& settings, std::string_view key, std::string_view value) {
  return std::any_of(settings.begin(), settings.end(), [&](const LaunchSetting& one) {
    return one.key == key && one.first() == value;
  });
}

bool is_null(const LaunchSettings& settings, std::string_view key) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const LaunchSetting& one) { return one.key == key && one.null; });
}

/// Arguments that say nothing in such a run: those of experts without experts, of groups of queries without
/// them, the counts that follow from others.
bool is_idle(const LaunchSettings& all, const LaunchSetting& one) {
  const bool dense = is_null(all, "num-experts");
  if (dense && (one.key.starts_with("moe-") || one.key.starts_with("expert-"))) return true;
  if (one.key == "num-query-groups") return set_to(all, "group-query-attention", "False");
  return one.key == "recompute-modules" && !set_to(all, "recompute-granularity", "selective");
}

}  // namespace

Result<PlanFile> read_megatron_log(const LaunchText& text) {
  LaunchText logged = text;
  std::erase_if(logged.settings, [&](const LaunchSetting& one) {
    return one.key != "num-experts" && is_idle(text.settings, one);
  });
  LaunchText flags = Translator(logged).take();
  const bool deepspeed = set_to(text.settings, "deepspeed", "True");
  return read_megatron(flags, deepspeed ? Launcher::kMegatronDeepspeed : Launcher::kMegatronLm);
}

}  // namespace flopcast::parallel
