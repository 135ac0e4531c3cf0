// Readers and writers of launch configurations, one pair per format.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/toml.h"
#include "flopcast/parallel/files.h"

namespace flopcast::parallel {

Result<PlanFile> read_megatron(std::string_view text, const std::string& where);
Result<PlanFile> read_torchtitan(const toml::table& root, const std::string& where);
Result<PlanFile> read_deepspeed(const nlohmann::json& root, const std::string& where);

PlanText write_megatron(const Plan& plan);
PlanText write_torchtitan(const Plan& plan);
PlanText write_deepspeed(const Plan& plan);

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
