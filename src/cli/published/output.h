// What estimate and plan print alike in paper mode.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/text/json_writer.h"
#include "cli/published/options.h"

namespace flopcast::cli {

/// Error (kUsage): no such strategy.
Result<PaperStrategy> paper_strategy(std::string_view text);
/// What both commands ask of paper mode: model, system, strategy, batch, defects.
Result<PaperCase> paper_case(const std::string& model, std::int64_t global_batch,
                             const PaperOptions& options);

/// Where an iteration's time goes; sums to it.
struct PaperPart {
  std::string_view key;   ///< "exposed_memory"
  std::string_view name;  ///< "exposed memory traffic"
  Seconds value;
};
std::array<PaperPart, 6> paper_parts(const PaperEstimate& estimate);
struct PaperShare {
  std::string_view name;
  Bytes value;
};
std::array<PaperShare, 4> paper_memory(const PaperEstimate& estimate);

/// "tp 8, pp 128, dp 16, microbatch 1; in a domain: tp 8". Degrees of 1 but the microbatch are left
/// out.
std::string plan_text(const PaperPlan& plan);
/// "gpt3_1T, 1d, 16384 GPUs of B200-NVS8, global batch 4096"
std::string case_text(const PaperCase& c, std::int64_t gpus);
/// Whose model this is and with which defects.
std::string paper_source_text(const PaperDefects& defects);
/// "309.5 GB of 192.0 GB"
std::string memory_text(const PaperCase& c, const PaperEstimate& estimate);
/// Four or five significant digits, never an exponent.
std::string seconds_text(Seconds time);

/// Members "model", "strategy", "system", "global_batch", "gpus", "defects".
void write_case(JsonWriter& json, const PaperCase& c, std::int64_t gpus);
/// Members "plan", "iteration_time_s", "parts_s", "memory_bytes", ...
void write_candidate(JsonWriter& json, const PaperCase& c, const PaperCandidate& candidate);

}  // namespace flopcast::cli
