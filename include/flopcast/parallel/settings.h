// Floor 2: settings of a plan by name, as flags and keyword arguments give them.
//
//   make_plan({{"tp", "8"}, {"pp", "4"}, {"global_batch", "1024"}}, 1024)   dp is 32
//
// One table holds every setting: the command line makes flags of it, Python keyword arguments.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/parallel.h"
#include "flopcast/parallel/files.h"

namespace flopcast {

/// Who chooses a setting.
enum class SettingKind : std::uint8_t {
  kBatch,   ///< what is trained on in a step
  kDegree,  ///< what a search for the best plan varies
  kGrid,    ///< the same, of tensor parallelism in two dimensions
  kChoice,  ///< what a search takes as given
};

/// A setting that flags and keyword arguments know.
struct PlanSetting {
  std::string_view name;       ///< "tp", "micro_batch"
  std::string_view long_name;  ///< Megatron's, with dashes: "tensor-model-parallel-size"; or empty
  std::string_view takes;      ///< "N", "none|selective|full"; empty: "true" or "false"
  std::string_view meaning;    ///< one line, with the default
  SettingKind kind = SettingKind::kDegree;  ///< who chooses it
};
/// Every setting, in the order in which people want to read them.
std::span<const PlanSetting> plan_settings();

/// Values by short or long name ('-' and '_' are the same).
using PlanSettings = std::map<std::string, std::string, std::less<>>;

/// A plan, and what nobody said about it.
struct NamedPlan {
  Plan plan;                         ///< ready for plan_problems
  std::vector<std::string> assumed;  ///< in words
  /// of the launch configuration: as of PlanFile
  std::vector<std::string> used, ignored, unmodelled, unknown;
};
/// The plan on so many chips. dp takes what the other degrees leave; sequence parallelism comes with
/// tp > 1, and interleaving with virtual stages, where nobody says otherwise.
/// @param from a launch configuration (read_plan) that the settings change, if any.
/// Errors (kUsage): an unknown name, a value that is no such choice, no global batch, a setting that the
/// launch script leaves to its caller (PlanFile::open) and nobody gives. Whether the
/// model can run so on these chips: plan_problems.
Result<NamedPlan> make_plan(const PlanSettings& settings, unsigned chips,
                            const PlanFile* from = nullptr);
/// The same without chips: a search's base. The batch may be left open (0).
Result<NamedPlan> base_plan(const PlanSettings& settings, const PlanFile* from = nullptr);

}  // namespace flopcast
