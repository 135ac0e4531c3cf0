// Steps that were measured without a profiler: measured/whatif_nanogpt.json of ../shared.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace flopcast::test {

/// The mean over all runs of a kind ("tokens_16384_per_gpu") of what a step took.
inline double measured_step_ms(const std::filesystem::path& file, const std::string& kind) {
  const auto ms = nlohmann::json::parse(read_text(file)).at(kind).at("base_ms");
  const auto runs = ms.get<std::vector<double>>();
  return std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
}

}  // namespace flopcast::test
