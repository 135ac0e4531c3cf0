// Readers and writers of launch configurations, one pair per format.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/toml.h"
#include "flopcast/parallel/files.h"
#include "parallel/launchers/flags.h"

namespace flopcast::parallel {

/// A launch script, or flags alone.
Result<PlanFile> read_script(std::string_view text, const std::string& where,
                             const LaunchSite& site);
/// Flags as the keys of a YAML mapping, or as the items of a list.
std::vector<LaunchFlag> yaml_flags(std::string_view text);
/// Whether a text is YAML rather than a script, by its first line.
bool looks_like_yaml(std::string_view first_line);
Result<PlanFile> read_megatron(const std::vector<LaunchFlag>& flags, const std::string& where);
FileModel read_file_model(const std::vector<LaunchFlag>& flags);
Result<PlanFile> read_torchtitan(const toml::table& root, const std::string& where);
/// @param bf16 whether the chips multiply in it
Result<PlanFile> read_deepspeed(const nlohmann::json& root, const std::string& where,
                                bool bf16 = true);
/// Whether a JSON object has at least one key of DeepSpeed's.
bool is_deepspeed(const nlohmann::json& root);
/// Gradients and optimiser states as DeepSpeed has them in this precision and at this stage.
/// @param typed the configuration says which type gradients have
void deepspeed_gradients(Plan& plan, bool typed, std::vector<std::string>& assumed);

PlanText write_megatron(const Plan& plan);
PlanText write_torchtitan(const Plan& plan);
PlanText write_deepspeed(const Plan& plan);

/// Takes note of what is lost: called with whether it is, and with two texts that name it.
using Lose = void (*)(void* to, bool lost, std::string_view what, std::string_view which);
/// What the launcher cannot run of a plan: each with every reason there could be.
void lost_in_megatron(const Plan& plan, Lose lose, void* to);
void lost_in_torchtitan(const Plan& plan, Lose lose, void* to);
void lost_in_deepspeed(const Plan& plan, Lose lose, void* to);

/// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text);
/// "value of KEY: expected EXPECTED, found FOUND".
Diagnostic bad_value(const std::string& where, std::string_view key, std::string_view expected,
                     std::string_view found);
/// Chips that hold one copy of the model, or 2^31 where they are more: no cluster has as many.
std::uint64_t chips_of_copy(const Plan& plan);

/// Layers of each stage as Megatron writes them: "Et*15|t*16|...|t*15L" (E embedding, t layers,
/// L loss, m multi-token prediction, (...)*n repeats). Nothing where it cannot be read.
std::optional<std::vector<unsigned>> parse_layout(std::string_view text);
std::string write_layout(const std::vector<unsigned>& stage_layers);

}  // namespace flopcast::parallel
