// Floor 2: who starts trainings, and what is known of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace flopcast {

/// Whose launch configuration a plan can be written as.
enum class PlanFormat : std::uint8_t { kMegatron, kTorchtitan, kDeepspeed };
std::string_view name(PlanFormat format);  ///< "megatron"
/// "megatron", "torchtitan" or "deepspeed"; none for others.
std::optional<PlanFormat> parse_plan_format(std::string_view text);

/// The program that starts a training, and so says what its settings are called and what holds where
/// none is given.
enum class Launcher : std::uint8_t {
  kMegatronLm,
  kMegatronDeepspeed,
  kMegatronLlama,
  kPai,
  kMsSwift,
  kSlime,
  kVerl,
  kNemo1,
  kNemo2,
  kMegatronBridge,
  kPrimus,
  kTorchtitan,
  kDeepspeed,
  kAccelerate,
  kHfTrainer,
  kTrl,
  kLlamaFactory,
  kAxolotl,
  kNanotron,
  kOlmoCore,
  kAutomodel,
  kMaxtext,
};

/// What is known of a launcher.
struct LauncherFacts {
  Launcher launcher = Launcher::kMegatronLm;
  std::string_view name;   ///< "ms-swift"
  std::string_view words;  ///< "ms-swift's Megatron"
  /// profile of catalog/training/constants.toml that its releases behave as; empty: of several, and the
  /// text does not tell which
  std::string_view software;
  std::string_view since;            ///< month from which they do: "2025-02"; empty: not known
  std::optional<PlanFormat> writes;  ///< which writer's text it takes
};
/// Every launcher, in the order of Launcher.
std::span<const LauncherFacts> launchers();
const LauncherFacts& facts(Launcher launcher);  ///< of this one
std::string_view name(Launcher launcher);       ///< "ms-swift"
/// by the names that `name` gives
std::optional<Launcher> parse_launcher(std::string_view text);

}  // namespace flopcast
