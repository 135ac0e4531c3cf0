// What a run says of its plan, in the words of those who published it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "flopcast/measured/training.h"

namespace flopcast::measured {

struct RunTexts {
  std::string dtype, recompute, task, software, framework, repo, set;
  int month = 0;           ///< and year of the software, 202606; 0: not told
  std::string remarks;     ///< on what the configuration leaves open
  std::string note, path;  ///< on the run; of its source
};
/// Fills plan, software and assumptions of the run. @return why it cannot be forecast; "": it can.
std::string read_run_plan(const nlohmann::json& parallel, const nlohmann::json& batch,
                          const nlohmann::json& model, const RunTexts& texts, TrainingRun& run);

}  // namespace flopcast::measured
