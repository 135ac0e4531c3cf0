// Floor 8: published models and their numbers as text, JSON and CSV: paper mode (Subramanian et al.),
// and what DFModel printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/published/cases.h"
#include "flopcast/published/dfmodel.h"
#include "flopcast/published/subramanian.h"

namespace flopcast {

/// "tp 8, pp 128, dp 16, microbatch 1; in a domain: tp 8". Degrees of 1 but the microbatch are left
/// out.
std::string paper_plan_words(const PaperPlan& plan);
/// "gpt3_1T, 1d, 16384 GPUs of B200-NVS8, global batch 4096"
std::string paper_case_words(const PaperCase& c, std::int64_t gpus);
/// "309.5 GB of 192.0 GB"
std::string paper_memory_words(const PaperCase& c, const PaperEstimate& estimate);
/// Four or five significant digits, never an exponent.
std::string paper_time_words(Seconds time);

/// One plan of paper mode.
struct PaperEstimateReport {
  PaperCase of;                           ///< the training run
  PaperCandidate found;                   ///< its plan, time and memory
  std::vector<PaperOperator> operators;   ///< of one layer
  std::optional<PaperCandidate> nearest;  ///< where it does not fit: a plan that does
};
/// For people: plan, time, memory, operators.
std::string paper_estimate_text(const PaperEstimateReport& report);
/// docs/reference/json.md, "Paper mode".
std::string paper_estimate_json(const PaperEstimateReport& report);
/// One plan as paper_searches_csv has it.
std::string paper_estimate_csv(const PaperEstimateReport& report);

/// Searches of paper mode, each result beside its cell.
struct PaperSearches {
  std::vector<PaperCell> cells;      ///< what was asked
  std::vector<PaperSearch> results;  ///< of each cell
  bool many = false;  ///< a sweep or a figure: the best plan of each cell; else all plans of one
};
/// For people: the best plans, or the best of each cell.
std::string paper_searches_text(const PaperSearches& searches);
/// docs/reference/json.md, "Paper mode".
std::string paper_searches_json(const PaperSearches& searches);
/// RFC 4180, a line of titles and one for each plan: its case, the plan, where its time and memory
/// go. SI units in the titles. Nothing stands where no plan was found.
std::string paper_searches_csv(const PaperSearches& searches);

/// Cases of the published code against paper mode: a row a kind of case, then every difference.
std::string paper_validation_text(const PaperValidation& validation);
/// docs/reference/json.md, "validate transformer-model".
std::string paper_validation_json(const PaperValidation& validation);

/// Numbers published with DFModel against the search: a row a section, every difference, what was
/// not checked.
std::string published_text(const PublishedValidation& validation);
/// docs/reference/json.md, "validate mapping".
std::string published_json(const PublishedValidation& validation);
/// A row for each number.
std::string published_csv(const PublishedValidation& validation);
/// The points of a figure, with its title.
std::string published_text(const PublishedStudy& study);
/// One document; docs/reference/json.md names every field.
std::string published_json(const PublishedStudy& study);
/// Its rows, with titles.
std::string published_csv(const PublishedStudy& study);

}  // namespace flopcast
