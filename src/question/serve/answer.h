// The parts of an answer about serving; each is made from the run alone, or runs again with something changed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/question/serve.h"
#include "question/serve/banded.h"

namespace flopcast::question {

/// The replicas of each pool at work. @param run with samples
std::vector<ServePool> serve_pools(const PreparedFleet& fleet, const FleetRun& run);
/// The clients' view over time.
std::vector<ServeWindow> serve_windows(const FleetRun& run);
/// Requests that come by themselves, faster than they are answered: how many come a second; nothing where they do not.
std::optional<double> overloading_rate(const ServeAnswer& answer);
/// The summary at both ends of the band that measured deployments of the engine have, and how surely limits hold.
/// Errors: the run's
std::optional<Diagnostic> add_bands(ServeAnswer& answer, BandedFleet& fleet,
                                    const ServeOptions& options);
/// "users", "requests/s", "times the trace's rate"
std::string load_unit(ServingWorkload::Kind kind);
/// The largest load within the limits. @param progress told how many runs there were; false stops. Errors: the runs'
Result<ServeLargest> largest_within(BandedFleet& fleet, const ServingWorkload& workload,
                                    const std::vector<ServiceLimit>& limits,
                                    const std::function<bool(std::uint64_t)>& progress);
/// Why there is none. @pre margin.load == 0
Diagnostic no_load_holds(const ServeQuestion& question, const ServeLargest& largest);
/// What limits the fleet, in sentences.
std::vector<std::string> serve_limits(const ServeAnswer& answer);

/// A fleet that differs from the question's, and how it is called.
struct ServeChange {
  std::string words;
  std::string refused;  ///< why there is no such fleet; empty: there is
  Fleet fleet;
};
/// Fleets with the next chips: a replica more, wider replicas.
std::vector<ServeChange> next_fleets(const ServeQuestion& question, const Catalog& catalog);
/// Fleets on a machine a number of which is a tenth more, then a tenth less.
std::vector<ServeChange> nearby_machines(const ServeQuestion& question);
/// What becomes of each, in order.
std::vector<ServeVariant> run_changes(const ServeQuestion& question,
                                      const std::vector<ServeChange>& changes,
                                      const Catalog& catalog, const ServeOptions& options);
/// What becomes of the run on each of nearby_machines().
std::vector<ServeVariant> serve_sensitivity(const ServeQuestion& question, const Catalog& catalog,
                                            const ServeOptions& options);
/// Other loads of the same fleet, rising.
void run_curve(const PreparedFleet& fleet, const ServeOptions& options, ServeAnswer& answer);

}  // namespace flopcast::question
