// Asks the cases of a file, and compares answers with truths.
#include <algorithm>
#include <cmath>
#include <memory>

#include "flopcast/question/whatif.h"

namespace flopcast {
namespace {

/// Recordings of a file's cases: the last two are kept, which a case needs for itself and its truth.
class Recordings {
 public:
  explicit Recordings(unsigned threads) { options_.threads = threads; }

  Result<const WhatIf*> open(const std::filesystem::path& path) {
    const auto known = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& each) { return each->path == path; });
    if (known != kept_.end()) {
      std::rotate(kept_.begin(), known, known + 1);
      return &kept_.front()->run;
    }
    Result<WhatIf> opened = WhatIf::open({path}, options_);
    if (!opened) return opened.error();
    kept_.insert(kept_.begin(), std::make_unique<Kept>(Kept{path, std::move(*opened)}));
    if (kept_.size() > 2) kept_.pop_back();
    return &kept_.front()->run;
  }

 private:
  struct Kept {
    std::filesystem::path path;
    WhatIf run;
  };
  ReadOptions options_;
  std::vector<std::unique_ptr<Kept>> kept_;  // latest first
};

double judged(const WhatIfCase& asked, Time gpu, Time host) {
  return (asked.host_step ? host : gpu).seconds();
}

/// Steps named by a case that a recording does not have are not asked of it.
WhatIfChanges steps_there(const WhatIf& recording, const std::vector<std::string>& steps) {
  WhatIfChanges all;
  for (const std::string& step : steps) {
    WhatIfChanges one;
    one.steps = {step};
    if (recording.ask(one)) all.steps.push_back(step);
  }
  return all;
}

/// The step that a recording itself has, by the same measure.
Result<double> step_of(const WhatIf& recording, const WhatIfCase& asked) {
  const Result<WhatIfAnswer> itself = recording.ask(steps_there(recording, asked.changes.steps));
  if (!itself) return itself.error();
  if (!itself->refused.empty()) {
    return Diagnostic{ErrorCode::kNoAnswer, recording.set().label, itself->refused.front().missing,
                      "its step is no truth"};
  }
  return judged(asked, itself->before, itself->host_before);
}

void compare(Recordings& recordings, WhatIfOutcome& out) {
  const WhatIfCase& asked = out.asked;
  const Result<const WhatIf*> recording = recordings.open(asked.recording);
  if (!recording) {
    out.failure = recording.error();
    return;
  }
  Result<WhatIfAnswer> answer = (*recording)->ask(asked.changes);
  if (!answer) {
    out.failure = answer.error();
    return;
  }
  out.before_s = judged(asked, answer->before, answer->host_before);
  if (answer->refused.empty()) {
    out.forecast_s = judged(asked, answer->after, answer->host_after);
    const double wide = *out.forecast_s / answer->after.seconds();  // the band is of the GPU step
    out.low_s = answer->band.low.seconds() * wide;
    out.high_s = answer->band.high.seconds() * wide;
  }
  out.answer = std::move(*answer);
  out.truth_s = asked.truth_s;
  if (asked.truth_recording.empty()) return;
  const Result<const WhatIf*> truth = recordings.open(asked.truth_recording);
  const Result<double> step = truth ? step_of(**truth, asked) : Result<double>(truth.error());
  if (step) {
    out.truth_s = *step;
  } else {
    out.failure = step.error();
  }
}

std::optional<Diagnostic> problem_of(const WhatIfCase& asked) {
  if (asked.problem) return asked.problem;
  const auto lacks = [&](const char* what, const char* hint) {
    return Diagnostic{ErrorCode::kBadInput, asked.id, what, hint};
  };
  if (asked.recording.empty())
    return lacks("no recording is named", "\"recording\": a folder of traces, or a file");
  if (asked.truth_recording.empty() && !asked.truth_s)
    return lacks("no truth is told", "\"truth\": {\"step_s\": ...} or {\"recording\": ...}");
  return std::nullopt;
}

}  // namespace

std::optional<double> WhatIfOutcome::error() const {
  if (!forecast_s || !truth_s || *truth_s <= 0) return std::nullopt;
  return *forecast_s / *truth_s - 1;
}

bool WhatIfOutcome::in_band() const { return error() && *truth_s >= low_s && *truth_s <= high_s; }

std::vector<WhatIfOutcome> validate_whatif(const std::vector<WhatIfCase>& cases,
                                           const WhatIfValidationOptions& options) {
  std::vector<WhatIfOutcome> outcomes(cases.size());
  Recordings recordings(options.threads);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (options.progress) options.progress(cases[i], i + 1, cases.size());
    outcomes[i].asked = cases[i];
    outcomes[i].failure = problem_of(cases[i]);
    if (!outcomes[i].failure) compare(recordings, outcomes[i]);
  }
  return outcomes;
}

WhatIfSummary summarize(const std::vector<WhatIfOutcome>& outcomes) {
  WhatIfSummary summary;
  summary.cases = outcomes.size();
  for (const WhatIfOutcome& outcome : outcomes) {
    const std::optional<double> error = outcome.error();
    if (error && !outcome.failure) {
      ++summary.n;
      summary.mean_abs_error += std::abs(*error);
      summary.max_abs_error = std::max(summary.max_abs_error, std::abs(*error));
      summary.band_coverage += outcome.in_band() ? 1 : 0;
    } else if (!outcome.failure && outcome.answer && !outcome.answer->refused.empty()) {
      ++summary.refused;
    } else {
      ++summary.failed;
    }
  }
  if (summary.n > 0) {
    summary.mean_abs_error /= static_cast<double>(summary.n);
    summary.band_coverage /= static_cast<double>(summary.n);
  }
  return summary;
}

}  // namespace flopcast
