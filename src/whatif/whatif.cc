#include "flopcast/whatif.h"

#include <fmt/format.h>

#include <utility>

#include "flopcast/replay/timeline.h"
#include "whatif/apply.h"
#include "whatif/changes.h"
#include "whatif/forecast.h"
#include "whatif/prepared.h"
#include "whatif/sensitivity.h"

namespace flopcast {
namespace {

Replay told(const whatif::Prepared& prepared, const whatif::ChangedRun& run,
            const whatif::TimedRun& timed) {
  Replay out;
  replaying::tell_run(*run.set, *run.recording, *run.bindings, *run.lags, timed.assembly, timed.run,
                      prepared.threads, out);
  if (run.emitted) return out;
  out.damage = prepared.damage;
  out.clocks = prepared.clocks;
  out.clock_residual = prepared.clock_residual;
  out.anomalies = prepared.anomalies;
  return out;
}

std::optional<Diagnostic> not_forecast(const whatif::Prepared& prepared) {
  if (prepared.damage.empty()) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, prepared.recorded.set->label, prepared.damage.front(),
                    "record again; nothing is forecast from a damaged recording"};
}

}  // namespace

WhatIf::WhatIf(std::unique_ptr<Prepared> prepared) : prepared_(std::move(prepared)) {}
WhatIf::WhatIf(WhatIf&&) noexcept = default;
WhatIf& WhatIf::operator=(WhatIf&&) noexcept = default;
WhatIf::~WhatIf() = default;

Result<WhatIf> WhatIf::open(const std::vector<std::filesystem::path>& paths,
                            const ReadOptions& options, const std::string& prefix) {
  Result<TraceSet> set = read_traces(paths, options, prefix);
  if (!set) return set.error();
  return of(std::make_shared<const TraceSet>(std::move(*set)), options.threads);
}

Result<WhatIf> WhatIf::of(std::shared_ptr<const TraceSet> set, unsigned threads) {
  Result<whatif::Prepared> prepared = whatif::prepare(std::move(set), threads);
  if (!prepared) return prepared.error();
  return WhatIf(std::make_unique<Prepared>(std::move(*prepared)));
}

std::vector<std::uint32_t> WhatIf::stages() const { return whatif::stages_of(*prepared_); }
const TraceSet& WhatIf::set() const { return *prepared_->recorded.set; }
const std::vector<std::string>& WhatIf::damage() const { return prepared_->damage; }

std::optional<Diagnostic> WhatIf::tell(const WhatIfFacts& facts) {
  if (!(facts.tokens.value_or(1) > 0) || facts.sequence.value_or(1) <= 0)
    return usage_error("tokens", "a step and a sequence have tokens", "give a number above 0");
  if (!(facts.usd_per_chip_hour >= 0))
    return usage_error("--price", "is below zero", "give USD per chip and hour");
  std::optional<Model> model;
  if (!facts.model.empty()) {
    Result<Model> loaded = load_model(facts.model);
    if (!loaded) return loaded.error();
    model = std::move(*loaded);
  }
  prepared_->totals = std::make_shared<const whatif::TotalsFinder>(facts, std::move(model));
  return std::nullopt;
}

Result<WhatIfAnswer> WhatIf::ask(const WhatIfChanges& changes) const {
  const Result<std::vector<whatif::Change>> list = whatif::read_changes(changes);
  if (!list) return list.error();
  return whatif::forecast(*prepared_, changes, *list);
}

Result<std::pair<WhatIfRun, WhatIfRun>> WhatIf::runs(const WhatIfChanges& changes) const {
  const Result<std::vector<whatif::Change>> list = whatif::read_changes(changes);
  if (!list) return list.error();
  const auto refused = [](const WhatIfRefusal& why) {
    return Diagnostic{ErrorCode::kNoAnswer, why.change, why.missing, ""};
  };
  if (!prepared_->damage.empty()) return refused({set().label, prepared_->damage.front()});
  const Result<whatif::ChangedRun> run = whatif::apply(prepared_->recorded, *list);
  if (!run) return run.error();
  if (!run->refused.empty()) return refused(run->refused.front());
  const Result<whatif::TimedRun> timed = whatif::time_run(*run, *run->lags);
  if (!timed) return timed.error();
  const whatif::ChangedRun& recorded = prepared_->recorded;
  return std::pair(WhatIfRun{recorded.set, told(*prepared_, recorded, prepared_->before)},
                   WhatIfRun{run->set, told(*prepared_, *run, *timed)});
}

Result<std::vector<WhatIfSensitivity>> WhatIf::sensitivity() const {
  if (auto problem = not_forecast(*prepared_)) return *std::move(problem);
  return whatif::sensitivity(*prepared_);
}

void tell_worth(const TraceSet& set, const ReplayOptions& options, Replay& replay) {
  if (options.network != nullptr) {
    replay.no_sensitivity = "on another network it is asked of whatif --on CLUSTER";
  } else if (options.baseline != Baseline::kNone || options.structure_from) {
    replay.no_sensitivity = "this is a replay of another run than was recorded";
  }
  if (!replay.no_sensitivity.empty()) return;
  const std::shared_ptr<const TraceSet> borrowed(std::shared_ptr<void>(), &set);
  const Result<WhatIf> asked = WhatIf::of(borrowed, options.threads);
  if (asked) replay.stages = asked->stages();
  Result<SensitivityTable> worth = asked ? asked->worth() : Result<SensitivityTable>(asked.error());
  if (worth) {
    replay.sensitivity = std::move(*worth);
  } else {
    replay.no_sensitivity = worth.error().what;
  }
}

Result<SensitivityTable> WhatIf::worth() const {
  if (auto problem = not_forecast(*prepared_)) return *std::move(problem);
  const whatif::ChangedRun& recorded = prepared_->recorded;
  if (!whatif::judge(*recorded.steps, prepared_->before.steps, {}).gpu)
    return Diagnostic{ErrorCode::kNoAnswer, set().label,
                      "no step of the recording has work on a GPU", ""};
  return whatif::worth(*prepared_);
}

}  // namespace flopcast
