#include "whatif/causes.h"

#include "whatif/apply.h"

namespace flopcast::whatif {
namespace {

/// GPU step with these changes; nothing where they are refused or cannot run.
std::optional<Time> step_with(const Prepared& prepared, const std::vector<Change>& changes,
                              const std::vector<std::string>& steps) {
  const Result<ChangedRun> run = apply(prepared.recorded, changes);
  if (!run || !run->refused.empty()) return std::nullopt;
  const Result<TimedRun> timed = time_run(*run, *run->lags);
  if (!timed) return std::nullopt;
  return judge(*run->steps, timed->steps, run->emitted ? run->judged : steps).gpu;
}

}  // namespace

std::vector<WhatIfCause> find_causes(const Prepared& prepared, const std::vector<Change>& changes,
                                     const std::vector<std::string>& steps, Time before,
                                     Time after) {
  const std::size_t n = changes.size();
  std::vector<WhatIfCause> causes;
  if (n < 2) return causes;
  // The first i changes for i = 1 .. n-1; all but the i-th for i = 0 .. n-2. (Without the last is
  // the first n-1.)
  std::vector<std::optional<Time>> first(n + 1), without(n);
  first[0] = before;
  first[n] = after;
  parallel_for(2 * (n - 1), prepared.threads, [&](std::size_t i) {
    std::vector<Change> some = changes;
    if (i < n - 1) {
      some.resize(i + 1);
      first[i + 1] = step_with(prepared, some, steps);
    } else {
      some.erase(some.begin() + static_cast<std::ptrdiff_t>(i - (n - 1)));
      without[i - (n - 1)] = step_with(prepared, some, steps);
    }
  });
  without[n - 1] = first[n - 1];
  Time so_far = before;
  for (std::size_t i = 0; i < n; ++i) {
    WhatIfCause cause{changes[i].text, {}, std::nullopt};
    if (first[i + 1]) {
      cause.forwards = *first[i + 1] - so_far;
      so_far = *first[i + 1];
    }
    if (without[i]) cause.backwards = after - *without[i];
    causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace flopcast::whatif
