#include <utility>

#include "flopcast/replay/damage.h"
#include "flopcast/replay/timeline.h"
#include "whatif/change/made_run.h"
#include "whatif/prepared.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

Diagnostic nothing_to_run(const TraceSet& set) {
  return {ErrorCode::kBadInput, set.label,
          "nothing to replay here: no row is an operator, a runtime call or GPU work as PyTorch's "
          "profiler writes them",
          "record with torch.profiler and its CPU and CUDA activities"};
}

}  // namespace

Result<Prepared> prepare(std::shared_ptr<const TraceSet> set, unsigned threads) {
  Prepared prepared;
  prepared.threads = threads;
  prepared.totals = std::make_shared<const TotalsFinder>(WhatIfFacts(), std::nullopt);
  Replay notes;
  Recording recording = make_recording(*set, threads, notes);
  prepared.clocks = notes.clocks;
  prepared.clock_residual = notes.clock_residual;
  prepared.anomalies = notes.anomalies;
  prepared.recorded = make_run(std::move(set), std::move(recording), threads);
  const ChangedRun& run = prepared.recorded;
  Result<TimedRun> before = time_run(run, *run.lags);
  if (!before) return before.error();
  if (before->assembly.graph.task_count() == 0) return nothing_to_run(*run.set);
  Result<TimedRun> typical = time_run(run, *run.typical);
  if (!typical) return typical.error();
  // As replays tell it: by the lags that a replay has unless asked otherwise.
  Replay told;
  tell_run(*run.set, *run.recording, *run.bindings, *run.typical, typical->assembly, typical->run,
           threads, told);
  prepared.damage = std::move(told.damage);
  prepared.collectives = std::move(told.collectives);
  prepared.before = std::move(*before);
  prepared.parts = break_down(run, prepared.before, judge(*run.steps, prepared.before.steps, {}));
  prepared.typical = std::move(*typical);
  return prepared;
}

}  // namespace flopcast::whatif
