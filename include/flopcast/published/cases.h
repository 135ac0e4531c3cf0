// Floor 6: expected values of the published code, case by case, against paper mode: the file that
// `flopcast validate transformer-model` reads. JSON, {"cases": [...]}, each case with
//
//   id, kind        "collective" (one), "config" (one plan), "layers" (a plan and its operators),
//                   "search" (the best plans of n GPUs)
//   input           system, and model, strategy, plan or collective; GB, GB/s, TFLOP/s
//   expected        values of the published code
//   expected_fixed  the same with three defects repaired; null and affected_by empty: the same
//                   values
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// One case compared once.
struct PaperCheck {
  std::string id, kind;      ///< names of the case, and of what it is a case of
  std::uint64_t values = 0;  ///< numbers compared
  double max_rel = 0;  ///< worst relative difference; where 0 is expected, of the case's total
  std::string worst;   ///< name of that number
  std::vector<std::string> mismatches;  ///< discrete values that differ: what, expected, found
  std::optional<Diagnostic> failure;    ///< the case could not be read or computed
};

/// Many checks in one.
struct PaperSummary {
  std::uint64_t n = 0;  ///< cases compared
  /// numbers compared; values that differ; cases that failed
  std::uint64_t values = 0, mismatches = 0, failures = 0;
  double max_rel = 0;  ///< worst relative difference
  std::string worst;   ///< "config-031 t_mem"
};
/// @param kind only cases of this kind; empty: all.
PaperSummary summarise(const std::vector<PaperCheck>& checks, std::string_view kind = {});

/// The cases, checked twice.
struct PaperValidation {
  std::vector<PaperCheck> published, repaired;  ///< with the defects, and without
};
/// Of both; each case counts once in `n`.
PaperSummary summarise(const PaperValidation& validation);

/// @param where names the text in errors.
/// Error (kBadInput): no JSON with cases in it. A bad case is a failed check.
Result<PaperValidation> validate_paper_cases(std::string_view text, const std::string& where,
                                             unsigned threads = 0);
/// Error (kBadInput): also where there is no such file.
Result<PaperValidation> validate_paper_cases(const std::filesystem::path& path,
                                             unsigned threads = 0);

}  // namespace flopcast
