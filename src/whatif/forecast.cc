#include "whatif/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"
#include "whatif/apply.h"
#include "whatif/band.h"
#include "whatif/breakdown.h"
#include "whatif/causes.h"
#include "whatif/caution.h"
#include "whatif/check_answer.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

using Names = std::vector<std::string>;

/// kUsage for a step that was not recorded.
std::optional<Diagnostic> steps_problem(const ChangedRun& run, const Names& names) {
  for (const std::string& name : names) {
    std::string there;
    bool found = false;
    for (const StepTasks& step :
         run.steps->empty() ? std::vector<StepTasks>() : run.steps->front()) {
      found = found || is_judged(step.name, {name});
      there += (there.empty() ? "" : ", ") + step.name;
    }
    if (!found) {
      return usage_error("--step", fmt::format("there is no step '{}'", name),
                         "there are " + there);
    }
  }
  return std::nullopt;
}

/// Nothing takes longer than it was recorded to, or waits for more.
struct TakesAway {
  bool operator()(const Scale& scale) const { return scale.factor < 1; }
  bool operator()(const RemoveHost&) const { return true; }
  bool operator()(const RemoveLaunches&) const { return true; }
  bool operator()(const RemoveProfiler&) const { return true; }
  bool operator()(const RemoveDataLoading&) const { return true; }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};
bool takes_away(const Change& change) { return std::visit(TakesAway{}, change.action); }

/// A run and what it is judged by.
struct Side {
  TimedRun timed;
  Judged judged;
};

/// Everything that is run once the changes are made: by these lags, those, and each doubt.
class Runs {
 public:
  Runs(const Prepared& prepared, const ChangedRun& run, const Names& names)
      : prepared_(prepared), run_(run), names_(run.emitted ? run.judged : names) {}

  /// kNoAnswer where the run itself cannot finish. Where one made for the band cannot, that source
  /// is left out.
  std::optional<Diagnostic> make() {
    sides_.resize(2 + 2 * run_.doubts.size());
    problems_.resize(sides_.size());
    parallel_for(sides_.size(), prepared_.threads, [&](std::size_t i) { make_one(i); });
    return problems_.front();
  }

  const Side& after() const { return *sides_[0]; }
  const Side* typical() const { return sides_[1] ? &*sides_[1] : nullptr; }
  /// GPU step with a doubt's durations at its low (high) end.
  std::optional<Time> with_doubt(std::size_t doubt, bool high) const {
    const auto& side = sides_[2 + 2 * doubt + (high ? 1 : 0)];
    return side ? side->judged.gpu : std::nullopt;
  }

 private:
  void make_one(std::size_t i) {
    if (i == 1 && !run_.typical) return;
    const Lags& lags = i == 1 ? *run_.typical : *run_.lags;
    Result<TimedRun> timed =
        i < 2 ? time_run(run_, run_.durations, lags) : time_run(run_, durations(i - 2), lags);
    if (!timed) {
      problems_[i] = timed.error();
      return;
    }
    Side side{std::move(*timed), {}};
    side.judged = judge(*run_.steps, side.timed.steps, names_);
    if (i > 0) side.timed = {};  // its step is all that is asked of it
    sides_[i] = std::move(side);
  }
  const Durations& durations(std::size_t end) const {
    const Doubt& doubt = run_.doubts[end / 2];
    return end % 2 == 0 ? doubt.low : doubt.high;
  }

  const Prepared& prepared_;
  const ChangedRun& run_;
  Names names_;
  std::vector<std::optional<Side>> sides_;
  std::vector<std::optional<Diagnostic>> problems_;
};

Time apart(Time a, Time b) { return a > b ? a - b : b - a; }

/// Fills in one answer.
class Forecast {
 public:
  Forecast(const Prepared& prepared, const WhatIfChanges& asked, const std::vector<Change>& changes)
      : prepared_(prepared), changes_(changes), emissions_(prepared.recorded) {
    answer_.changes = asked;
    answer_.ranks_before = answer_.ranks_after = ranks(prepared.recorded);
  }

  Result<WhatIfAnswer> make() {
    const Names& names = answer_.changes.steps;
    if (auto problem = steps_problem(prepared_.recorded, names)) return *problem;
    before_ = judge(*prepared_.recorded.steps, prepared_.before.steps, names);
    answer_.host_before = answer_.host_after = before_.host;
    answer_.before = answer_.after = before_.gpu.value_or(Time{});
    if (refuse_all()) return std::move(answer_);
    std::vector<std::vector<Change>> questions = cause_questions(changes_);
    questions.push_back(changes_);
    emissions_.prepare(questions, prepared_.threads);
    Result<ChangedRun> run = apply(prepared_.recorded, changes_, &emissions_);
    if (!run) return run.error();
    answer_.refused = run->refused;
    answer_.notes = run->notes;
    answer_.ranks_after = ranks(*run);
    if (!answer_.refused.empty()) return std::move(answer_);
    Runs runs(prepared_, *run, names);
    if (const auto problem = runs.make()) {
      answer_.refused.push_back({all_changes(), problem->what});
      return std::move(answer_);
    }
    compare(*run, runs);
    return std::move(answer_);
  }

 private:
  static std::uint32_t ranks(const ChangedRun& run) {
    return static_cast<std::uint32_t>(run.ranks > 0 ? run.ranks : run.recording->ranks.size());
  }

  std::string all_changes() const {
    std::string text;
    for (const Change& change : changes_) text += (text.empty() ? "" : ", ") + change.text;
    return text.empty() ? "no change" : text;
  }

  /// What no question can be answered from.
  bool refuse_all() {
    for (const std::string& why : prepared_.damage)
      answer_.refused.push_back({all_changes(), "the recording is damaged: " + why});
    if (!before_.gpu)
      answer_.refused.push_back({all_changes(), "no step of the recording has work on a GPU"});
    return !answer_.refused.empty();
  }

  void compare(const ChangedRun& run, const Runs& runs) {
    const Judged& after = runs.after().judged;
    if (!after.gpu) {
      answer_.refused.push_back({all_changes(), "the changed run has no work on a GPU"});
      return;
    }
    answer_.after = *after.gpu;
    answer_.host_after = after.host;
    const TotalsFinder& totals = *prepared_.totals;
    answer_.totals_before = totals.before(prepared_.recorded, answer_.before);
    answer_.totals = totals.after(prepared_.recorded, run, changes_, answer_.after);
    list_steps(run, after);
    list_parts(run, runs.after());
    note_copied(run);
    add_caution(run, after);
    answer_.band = band(run, runs);
    answer_.causes = find_causes(prepared_, emissions_, changes_, answer_.changes.steps,
                                 answer_.before, answer_.after);
  }

  void add_caution(const ChangedRun& run, const Judged& after) {
    answer_.caution = run.caution;
    if (run.emitted) return;
    const std::string moved = caution_of(before_, after, std::ranges::all_of(changes_, takes_away));
    answer_.caution += (answer_.caution.empty() || moved.empty() ? "" : "; ") + moved;
  }

  void list_steps(const ChangedRun& run, const Judged& after) {
    for (const JudgedStep& step : after.steps) {
      if (!step.gpu) continue;
      WhatIfStep out{step.name, answer_.before, *step.gpu, answer_.host_before, step.host};
      const auto was =
          std::find_if(before_.steps.begin(), before_.steps.end(),
                       [&](const JudgedStep& s) { return !run.emitted && s.name == step.name; });
      if (was != before_.steps.end()) {
        out.before_gpu = was->gpu.value_or(Time{});
        out.before_host = was->host;
      }
      answer_.steps.push_back(std::move(out));
    }
  }

  void list_parts(const ChangedRun& run, const Side& side) {
    const Breakdown was = answer_.changes.steps.empty()
                              ? prepared_.parts
                              : break_down(prepared_.recorded, prepared_.before, before_);
    const Breakdown is = break_down(run, side.timed, side.judged);
    for (std::size_t p = 0; p < was.size(); ++p)
      answer_.parts.push_back({kBreakdownParts[p], was[p], is[p]});
  }

  /// How much of the GPU's work takes what it was recorded to.
  void note_copied(const ChangedRun& run) {
    if (run.emitted) return;
    WhatIfNote note{"GPU work with its recorded duration", "copied", 0, 0};
    double copied = 0, all = 0;
    for (std::size_t r = 0; r < run.durations.ranks.size(); ++r) {
      const std::vector<Time>& is = run.durations.ranks[r].transfer;
      const std::vector<Time>& was = prepared_.recorded.durations.ranks[r].transfer;
      for (std::size_t t = 0; t < is.size(); ++t) {
        all += is[t].seconds();
        if (is[t] != was[t]) continue;
        copied += is[t].seconds();
        ++note.tasks;
      }
    }
    note.share = all > 0 ? copied / all : 0;
    answer_.notes.push_back(note);
  }

  WhatIfBand band(const ChangedRun& run, const Runs& runs) const {
    const Time answer = answer_.after;
    std::vector<WhatIfBand::Source> sources = {
        resampled(*run.steps, runs.after().timed, runs.after().judged)};
    if (const auto typical = with_typical_lags(runs)) {
      const Time width = apart(*typical, answer);
      sources.push_back({"typical against recorded lags", width, width});
    }
    for (std::size_t d = 0; d < run.doubts.size(); ++d) {
      const Time low = runs.with_doubt(d, false).value_or(answer);
      const Time high = runs.with_doubt(d, true).value_or(answer);
      sources.push_back({run.doubts[d].what, std::max(Time{}, answer - std::min(low, high)),
                         std::max(Time{}, std::max(low, high) - answer)});
    }
    return combined(answer, std::move(sources));
  }

  /// The answer if both sides had typical lags: their ratio, of the step as recorded.
  std::optional<Time> with_typical_lags(const Runs& runs) const {
    if (runs.typical() == nullptr || !runs.typical()->judged.gpu) return std::nullopt;
    const Judged was =
        judge(*prepared_.recorded.steps, prepared_.typical.steps, answer_.changes.steps);
    if (!was.gpu || *was.gpu <= Time{}) return std::nullopt;
    const double ratio = runs.typical()->judged.gpu->seconds() / was.gpu->seconds();
    return std::min(rounded_ps(static_cast<double>(answer_.before.ps) * ratio), kLongestTime);
  }

  const Prepared& prepared_;
  const std::vector<Change>& changes_;
  Emissions emissions_;
  WhatIfAnswer answer_;
  Judged before_;
};

}  // namespace

Result<WhatIfAnswer> forecast(const Prepared& prepared, const WhatIfChanges& asked,
                              const std::vector<Change>& changes) {
  Result<WhatIfAnswer> answer = Forecast(prepared, asked, changes).make();
  if (!answer) return answer;
  if (auto problem = check_answer(*answer)) return *std::move(problem);
  return answer;
}

}  // namespace flopcast::whatif
