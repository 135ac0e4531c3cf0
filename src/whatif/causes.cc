#include "whatif/causes.h"

namespace flopcast::whatif {
namespace {

/// GPU step with these changes; nothing where they are refused or cannot run.
std::optional<Time> step_with(const Prepared& prepared, const Emissions& emissions,
                              const std::vector<Change>& changes,
                              const std::vector<std::string>& steps) {
  const Result<ChangedRun> run = apply(prepared.recorded, changes, &emissions);
  if (!run || !run->refused.empty()) return std::nullopt;
  const Result<TimedRun> timed = time_run(*run, *run->lags);
  if (!timed) return std::nullopt;
  return judge(*run->steps, timed->steps, run->emitted ? run->judged : steps).gpu;
}

}  // namespace

std::vector<std::vector<Change>> cause_questions(const std::vector<Change>& changes) {
  std::vector<std::vector<Change>> questions;
  for (std::size_t i = 1; i < changes.size(); ++i) {
    questions.push_back(changes);
    questions.back().resize(i);
  }
  // Without the last is the last of these.
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    questions.push_back(changes);
    questions.back().erase(questions.back().begin() + static_cast<std::ptrdiff_t>(i));
  }
  return questions;
}

std::vector<WhatIfCause> find_causes(const Prepared& prepared, const Emissions& emissions,
                                     const std::vector<Change>& changes,
                                     const std::vector<std::string>& steps, Time before,
                                     Time after) {
  const std::size_t n = changes.size();
  std::vector<WhatIfCause> causes;
  if (n < 2) return causes;
  const std::vector<std::vector<Change>> questions = cause_questions(changes);
  std::vector<std::optional<Time>> answers(questions.size());
  parallel_for(questions.size(), prepared.threads, [&](std::size_t i) {
    answers[i] = step_with(prepared, emissions, questions[i], steps);
  });
  Time so_far = before;
  for (std::size_t i = 0; i < n; ++i) {
    const std::optional<Time> first = i + 1 < n ? answers[i] : after;
    const std::optional<Time> without = i + 1 < n ? answers[n - 1 + i] : answers[n - 2];
    WhatIfCause cause{changes[i].text, {}, std::nullopt};
    if (first) {
      cause.forwards = *first - so_far;
      so_far = *first;
    }
    if (without) cause.backwards = after - *without;
    causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace flopcast::whatif
