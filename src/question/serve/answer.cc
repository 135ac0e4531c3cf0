// A question run, and run again with what would change the answer.
#include "question/serve/answer.h"

namespace flopcast {

using namespace question;  // the room's own names

Result<ServeAnswer> answer_serving(const ServeQuestion& question, const Catalog& catalog,
                                   const ServeOptions& options) {
  Result<BandedFleet> fleet = BandedFleet::make(question.fleet, catalog);
  if (!fleet) return fleet.error();
  ServeAnswer answer;
  answer.question = question;
  answer.load_unit = load_unit(question.workload.kind);
  if (question.largest) {
    Result<ServeLargest> largest =
        largest_within(*fleet, question.workload, question.limits, options.progress);
    if (!largest) return largest.error();
    if (largest->margin.load == 0) return no_load_holds(question, *largest);
    answer.question.workload = at_load(question.workload, largest->margin.load);
    answer.largest = std::move(*largest);
  }
  FleetOptions run_options;
  run_options.leap = options.leap;
  run_options.record_samples = true;
  Result<FleetRun> run = fleet->forecast().run(answer.question.workload, run_options);
  if (!run) return run.error();
  answer.run = std::move(*run);
  answer.summary =
      summarize_serving(answer.run, question.fleet, question.limits, question.usd_per_chip_hour);
  answer.pools = serve_pools(fleet->forecast(), answer.run);
  answer.windows = serve_windows(answer.run);
  answer.limits = serve_limits(answer);
  if (options.band) {
    if (auto error = add_bands(answer, *fleet, options)) return *std::move(error);
  }
  if (options.next) {
    answer.next =
        run_changes(answer.question, next_fleets(answer.question, catalog), catalog, options);
  }
  if (options.sensitivity) {
    answer.sensitivity = serve_sensitivity(answer.question, catalog, options);
  }
  if (options.curve) run_curve(fleet->forecast(), options, answer);
  return answer;
}

}  // namespace flopcast
