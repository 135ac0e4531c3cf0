// What is known of each launcher.
#include <algorithm>
#include <array>

#include "flopcast/parallel/launch.h"

namespace flopcast {
namespace {

constexpr PlanFormat kMegatron = PlanFormat::kMegatron;

// Profiles as catalog/training/launches.toml dates them for measured runs.
// clang-format off
constexpr std::array kLaunchers = {
    LauncherFacts{Launcher::kMegatronLm, "megatron-lm", "Megatron-LM", "", "", kMegatron},
    LauncherFacts{Launcher::kMegatronDeepspeed, "megatron-deepspeed", "Megatron-DeepSpeed", "megatron-deepspeed", "2021-08", kMegatron},
    LauncherFacts{Launcher::kMegatronLlama, "megatron-llama", "Megatron-LLaMA", "megatron-2024", "2023-08", {}},
    LauncherFacts{Launcher::kPai, "pai", "Pai-Megatron-Patch", "megatron-2025", "2025-01", {}},
    LauncherFacts{Launcher::kMsSwift, "ms-swift", "ms-swift's Megatron", "megatron-2025", "2025-02", {}},
    LauncherFacts{Launcher::kSlime, "slime", "slime", "megatron-2025", "2025-06", {}},
    LauncherFacts{Launcher::kVerl, "verl", "verl", "megatron-2025", "2025-02", {}},
    LauncherFacts{Launcher::kNemo1, "nemo1", "NeMo 1", "megatron-2024", "2023-08", {}},
    LauncherFacts{Launcher::kNemo2, "nemo2", "NeMo 2", "megatron-2025", "2025-02", {}},
    LauncherFacts{Launcher::kMegatronBridge, "megatron-bridge", "Megatron-Bridge", "megatron-2025", "2025-09", {}},
    LauncherFacts{Launcher::kPrimus, "primus", "Primus", "megatron-2025", "2025-06", {}},
    LauncherFacts{Launcher::kTorchtitan, "torchtitan", "torchtitan", "fsdp-compiled", "2025-01", PlanFormat::kTorchtitan},
    LauncherFacts{Launcher::kDeepspeed, "deepspeed", "DeepSpeed", "", "", PlanFormat::kDeepspeed},
    LauncherFacts{Launcher::kAccelerate, "accelerate", "Hugging Face accelerate", "", "", {}},
    LauncherFacts{Launcher::kHfTrainer, "hf-trainer", "Hugging Face Trainer", "", "", {}},
    LauncherFacts{Launcher::kTrl, "trl", "TRL", "", "", {}},
    LauncherFacts{Launcher::kLlamaFactory, "llama-factory", "LLaMA-Factory", "", "", {}},
    LauncherFacts{Launcher::kAxolotl, "axolotl", "axolotl", "", "", {}},
    LauncherFacts{Launcher::kNanotron, "nanotron", "nanotron", "fsdp", "", {}},
    LauncherFacts{Launcher::kOlmoCore, "olmo-core", "OLMo-core", "fsdp-compiled", "", {}},
    LauncherFacts{Launcher::kAutomodel, "automodel", "NeMo AutoModel", "fsdp-te", "", {}},
    LauncherFacts{Launcher::kMaxtext, "maxtext", "MaxText", "xla", "", {}},
};
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < kLaunchers.size(); ++i) {
    if (static_cast<std::size_t>(kLaunchers[i].launcher) != i) return false;
  }
  return kLaunchers.size() == static_cast<std::size_t>(Launcher::kMaxtext) + 1;
}
static_assert(in_order(), "a row for every launcher, in their order");

constexpr std::array<std::string_view, 3> kFormats = {"megatron", "torchtitan", "deepspeed"};

}  // namespace

std::string_view name(PlanFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<PlanFormat> parse_plan_format(std::string_view text) {
  const auto found = std::find(kFormats.begin(), kFormats.end(), text);
  if (found == kFormats.end()) return std::nullopt;
  return static_cast<PlanFormat>(found - kFormats.begin());
}

std::span<const LauncherFacts> launchers() { return kLaunchers; }
const LauncherFacts& facts(Launcher launcher) {
  return kLaunchers[static_cast<std::size_t>(launcher)];
}
std::string_view name(Launcher launcher) { return facts(launcher).name; }

std::optional<Launcher> parse_launcher(std::string_view text) {
  for (const LauncherFacts& one : kLaunchers) {
    if (one.name == text) return one.launcher;
  }
  return std::nullopt;
}

}  // namespace flopcast
