// Floor 7: files of what-ifs: several questions to one recording, or pairs of recordings that prove
// forecasts. docs/reference/what-if-files.md has every field.
//
//   {"cases": [{"id": "unprofiled", "recording": "traces/run1", "changes": {"remove": ["profiler"]},
//               "truth": {"step_s": 0.0334}, "judge": "gpu_step", "steps": ["ProfilerStep#11"]}]}
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/whatif.h"

namespace flopcast {

/// One question of a file.
struct WhatIfCase {
  std::string id;                         ///< as written, or "case 3"
  std::filesystem::path recording;        ///< folder or file; empty: the caller knows it
  WhatIfChanges changes;                  ///< the steps that are judged are among them
  std::filesystem::path truth_recording;  ///< its own step is the truth; empty: see truth_s
  std::optional<double> truth_s;          ///< a measured step
  bool host_step = false;                 ///< judged by the host's step, not by the GPU's
  std::optional<Diagnostic> problem;      ///< set: this is no question, and says why
};

/// Every case of a file; one that is no question says so itself, and loses no other. kBadInput where
/// the file holds no list of cases. Paths are relative to the file's folder.
Result<std::vector<WhatIfCase>> read_whatif_cases(const std::filesystem::path& path);
/// The same of a text. @param where,folder what errors name, what paths are relative to
Result<std::vector<WhatIfCase>> parse_whatif_cases(std::string_view text, const std::string& where,
                                                   const std::filesystem::path& folder = {});

/// A case beside its truth.
struct WhatIfOutcome {
  WhatIfCase asked;                   ///< as read
  std::optional<Diagnostic> failure;  ///< nothing could be asked: a bad path, a change that is none
  std::optional<WhatIfAnswer> answer;  ///< refused or not
  std::optional<double> forecast_s;    ///< the step that is judged, after; nothing where refused
  double before_s = 0;                 ///< the same step of the recording
  double low_s = 0, high_s = 0;        ///< 10-90 % band of the forecast
  std::optional<double> truth_s;       ///< measured, or of the truth's own recording
  /// forecast / truth - 1, a share; nothing where one of them is missing
  std::optional<double> error() const;
  /// whether the truth lies in the band
  bool in_band() const;
};
/// How the cases of a file are asked.
struct WhatIfValidationOptions {
  unsigned threads = 0;  ///< 0: all cores
  /// The case that is begun, its number among how many.
  std::function<void(const WhatIfCase& asked, std::size_t number, std::size_t of)> progress;
};
/// Asks every case, in order; a recording that several cases in a row share is read once.
std::vector<WhatIfOutcome> validate_whatif(const std::vector<WhatIfCase>& cases,
                                           const WhatIfValidationOptions& options = {});

/// Over all outcomes; errors are shares.
struct WhatIfSummary {
  std::size_t cases = 0;                         ///< in the file
  std::size_t n = 0;                             ///< of these, forecast and compared with a truth
  std::size_t refused = 0;                       ///< of these, refused for lack of evidence
  std::size_t failed = 0;                        ///< of these, no question, or without a truth
  double mean_abs_error = 0, max_abs_error = 0;  ///< over the n
  double band_coverage = 0;                      ///< share of the n whose truth is in the band
};
WhatIfSummary summarize(const std::vector<WhatIfOutcome>& outcomes);  ///< see WhatIfSummary

}  // namespace flopcast
