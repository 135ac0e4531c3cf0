#include "whatif/change/made_run.h"

#include <utility>

namespace flopcast::whatif {

using namespace replaying;

ChangedRun make_run(std::shared_ptr<const TraceSet> set, Recording recording, unsigned threads) {
  ChangedRun run;
  run.set = std::move(set);
  Bindings bindings(recording.ranks.size());
  StepsOfRanks steps(recording.ranks.size());
  parallel_for(recording.ranks.size(), threads, [&](std::size_t r) {
    bindings[r] = find_bindings(recording, static_cast<std::uint32_t>(r));
    steps[r] = step_tasks(*run.set, recording.ranks[r]);
  });
  run.lags = std::make_shared<const Lags>(measure_lags(recording, bindings, LagMode::kRecorded));
  run.typical = std::make_shared<const Lags>(measure_lags(recording, bindings, LagMode::kTypical));
  run.durations = recorded_durations(recording);
  run.parts = std::make_shared<const Parts>(*run.set, recording);
  run.bindings = std::make_shared<const Bindings>(std::move(bindings));
  run.steps = std::make_shared<const StepsOfRanks>(std::move(steps));
  run.found = std::make_shared<Findings>();
  run.recording = std::make_shared<const Recording>(std::move(recording));
  return run;
}

}  // namespace flopcast::whatif
