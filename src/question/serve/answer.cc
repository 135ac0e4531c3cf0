// A question run, and run again with what would change the answer.
#include "question/serve/answer.h"

namespace flopcast {

using namespace question;  // the room's own names

Result<ServeAnswer> answer_serving(const ServeQuestion& question, const Catalog& catalog,
                                   const ServeOptions& options) {
  Result<PreparedFleet> fleet = PreparedFleet::make(question.fleet, catalog);
  if (!fleet) return fleet.error();
  FleetOptions run_options;
  run_options.leap = options.leap;
  run_options.record_samples = true;
  Result<FleetRun> run = fleet->run(question.workload, run_options);
  if (!run) return run.error();
  ServeAnswer answer;
  answer.question = question;
  answer.run = std::move(*run);
  answer.summary = summarize_serving(answer.run, question.fleet, question);
  answer.pools = serve_pools(*fleet, answer.run);
  answer.windows = serve_windows(answer.run);
  answer.limits = serve_limits(answer);
  if (options.band) {
    if (auto error = add_bands(answer, catalog, options)) return *std::move(error);
  }
  if (options.next) {
    answer.next = run_changes(question, next_fleets(question, catalog), catalog, options);
  }
  if (options.sensitivity) {
    answer.sensitivity = serve_sensitivity(question, catalog, options);
  }
  if (options.curve) run_curve(*fleet, options, answer);
  return answer;
}

}  // namespace flopcast
