// Floor 2: which plans a launcher runs, and the line that starts one. The rules are data: catalog/launch/rules.
//
//   const LaunchContext context = launch_context(PlanFormat::kMegatron, &model);
//   if (launchable(plan, PlanFormat::kMegatron, context)) print(launch_script(write_launch(...)));
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/parallel.h"
#include "flopcast/parallel/launch.h"

namespace flopcast {

/// What a launcher's rules are told beside a plan: made by launch_context.
struct LaunchContext {
  const Model* model = nullptr;  ///< null: not known, and facts of it are 0
  double capability = 0;         ///< of the chip: CUDA's compute capability; 0: not known, or none
  int software = 0;  ///< place among launcher_softwares() of what it is priced as; -1: none of them
  /// Of the model: experts of a layer; whether they have biases, keys and values are kept compressed, positions are
  /// rotations.
  std::int64_t experts = 0;
  bool expert_biases = false, latent = false, rotary = false;  ///< as above
};
/// Profiles of catalog/training/constants.toml that the launcher behaves as, the usual first.
std::span<const std::string> launcher_softwares(PlanFormat launcher);
/// Its name and the release that the rules are of: "torchtitan 0.2.2".
std::string_view launcher_words(PlanFormat launcher);
/// @param software profile that the plan is priced as; empty: the launcher's usual
LaunchContext launch_context(PlanFormat launcher, const Model* model,
                             std::string_view software = {}, double capability = 0);

/// Whether the launcher runs the plan.
bool launchable(const Plan& plan, PlanFormat launcher, const LaunchContext& context = {});
/// Settles the plan (settle_plan), and says whether the launcher runs it so: both at once, for searches.
bool launched_as(Plan& plan, PlanFormat launcher, const LaunchContext& context,
                 std::span<const std::string> named);
/// The plan as the launcher runs it: with what it does whatever it is told, but for settings that somebody named.
/// @param named of plan_settings(), by their short names
void settle_plan(Plan& plan, PlanFormat launcher, const LaunchContext& context,
                 std::span<const std::string> named = {});

/// A setting that a launcher takes, but not in the text of this format.
struct PlanElsewhere {
  std::string name, value;  ///< as make_plan takes them: "pp", "4"
  std::string where;        ///< in words: "PipelineModule(num_stages=...)"
  bool operator==(const PlanElsewhere&) const = default;
};

/// A file that a launch line names.
struct LaunchFile {
  std::string name, text;  ///< "plan.toml"; what is in it
  bool operator==(const LaunchFile&) const = default;
};
/// How a plan is started: on made-up data, for a few steps.
struct Launch {
  std::vector<std::string> environment;  ///< "CUDA_DEVICE_MAX_CONNECTIONS=1"
  std::vector<LaunchFile> files;         ///< that the command names
  std::string command;                   ///< one, over several lines of at most 78 columns
  std::vector<std::string> lost;         ///< what the launcher cannot run so, in words
  std::vector<PlanElsewhere> elsewhere;  ///< what its program is told in another place
  std::vector<std::string> notes;        ///< what is left to whoever starts it
  bool operator==(const Launch&) const = default;
};
/// @pre context.model is known
/// @param chips_per_node of a node; fewer are used where they do not divide the plan's
Launch write_launch(const Plan& plan, PlanFormat launcher, const LaunchContext& context,
                    unsigned chips_per_node);
/// All of it as a shell takes it: files as here-documents, the environment, the command. What is read back of it by
/// parse_plan is the plan again, with `elsewhere`.
std::string launch_script(const Launch& launch);

}  // namespace flopcast
