// Readers and writers of launch configurations, one pair per format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "flopcast/parallel/files.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

/// Flags in Megatron-LM's names, of a launcher that is one of its descendants: its own names are known
/// beside Megatron-LM's. Settings that are not shown are the launcher's defaults.
Result<PlanFile> read_megatron(const LaunchText& text, Launcher launcher);
/// Key of a setting that the descendant's reader has read itself.
inline constexpr std::string_view kReadAlready = "=";
Result<PlanFile> read_megatron_lm(const LaunchText& text);
/// What Megatron-DeepSpeed's JSON adds is read too where the text has it.
Result<PlanFile> read_megatron_deepspeed(const LaunchText& text);
/// The block of arguments that Megatron-LM prints into its log.
Result<PlanFile> read_megatron_log(const LaunchText& text);
// Descendants of Megatron-LM.
Result<PlanFile> read_ms_swift(const LaunchText& text);
Result<PlanFile> read_slime(const LaunchText& text);
Result<PlanFile> read_pai(const LaunchText& text);
Result<PlanFile> read_megatron_llama(const LaunchText& text);
Result<PlanFile> read_verl(const LaunchText& text);
Result<PlanFile> read_nemo1(const LaunchText& text);
Result<PlanFile> read_primus(const LaunchText& text);
/// Recipes by name, with overrides.
Result<PlanFile> read_nemo2(const LaunchText& text);
Result<PlanFile> read_megatron_bridge(const LaunchText& text);

FileModel read_file_model(const LaunchSettings& flags);
/// Whether a flag says something of a plan (launchers' flags of nodes and processes do not).
bool is_plan_flag(std::string_view key);
/// Whether it says something of the model.
bool is_model_flag(std::string_view key);
/// A document of JSON.
Result<PlanFile> read_deepspeed(const LaunchText& text);
/// Keys that tell DeepSpeed's configuration, from the most telling on.
std::span<const std::string_view> deepspeed_keys();
/// The first of them that an object has of whose keys at least half are DeepSpeed's; empty: it is none of DeepSpeed's.
std::string_view deepspeed_key(const nlohmann::ordered_json& root);
/// Gradients and optimiser states as DeepSpeed has them in this precision and at this stage.
/// @param typed the configuration says which type gradients have
void deepspeed_gradients(Plan& plan, bool typed, std::vector<std::string>& assumed);

PlanText write_megatron(const Plan& plan);
/// What torchtitan's configuration says beside the plan.
struct TitanRun {
  bool compile = true;       ///< torch.compile of every layer
  std::string name, flavor;  ///< of its models; empty: none is named
  std::int64_t layers = 0;   ///< of the model; 0: not known
};
PlanText write_torchtitan(const Plan& plan, const TitanRun& run);
/// Flags of a model, a setting each: "--num-layers 80". What they cannot say of it, read_file_model of them shows.
std::vector<std::string> megatron_model_flags(const Model& model, std::int64_t sequence);
PlanText write_deepspeed(const Plan& plan);

/// Chips that hold one copy of the model, or 2^31 where they are more: no cluster has as many.
std::uint64_t chips_of_copy(const Plan& plan);
/// Chips of all replicas, or 0 where they are more than is read.
unsigned chips_of_plan(const Plan& plan);

/// Layers of each stage as Megatron writes them: "Et*15|t*16|...|t*15L" (E embedding, t layers,
/// L loss, m multi-token prediction, (...)*n repeats). Nothing where it cannot be read.
std::optional<std::vector<unsigned>> parse_layout(std::string_view text);
std::string write_layout(const std::vector<unsigned>& stage_layers);

}  // namespace flopcast::parallel
