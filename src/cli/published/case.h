// What estimate and plan ask alike in paper mode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/published/options.h"

namespace flopcast::cli {

/// Error (kUsage): no such strategy.
Result<PaperStrategy> paper_strategy(std::string_view text);
/// What both commands ask of paper mode: model, system, strategy, batch, defects.
Result<PaperCase> paper_case(const std::string& model, std::int64_t global_batch,
                             const PaperOptions& options);

}  // namespace flopcast::cli
