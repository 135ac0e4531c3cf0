// Floor 5: steady states in closed form, and the search over layouts, batches and fleets that uses them as bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving/fleet.h"

namespace flopcast {

/// A replica under C users forever, without bursts: means by Little's law over an iteration of the mean
/// batch. Agrees with the simulator where its assumptions hold: docs/theory/serving.md.
struct SteadyState {
  Seconds ttft, tpot;              ///< means
  double output_tokens_per_s = 0;  ///< of a replica
  double requests_per_s = 0;
  double users = 0;   ///< that are served at once: fewer than asked where blocks or settings limit
  double queued = 0;  ///< that wait
};
/// @param users of one replica.
SteadyState steady_state(const IterationModel& model, const ServingMemory& memory,
                         const EngineSettings& settings, const ServingLayout& layout, double users,
                         double input, double output);
/// Never above what any schedule can reach: a bound for searches. TTFT of an empty engine, TPOT of the
/// smallest batch that sustains the rate, tokens a second of the largest batch that fits.
struct ServingBound {
  Seconds ttft, tpot;
  double output_tokens_per_s = 0;
};
ServingBound serving_bound(const IterationModel& model, const ServingMemory& memory,
                           const EngineSettings& settings, const ServingLayout& layout,
                           double input, double output);

/// A limit on a percentile: "ttft.p99<1s".
struct ServiceLimit {
  enum class Quantity : std::uint8_t { kTtft, kTpot, kInterToken, kLatency };
  Quantity quantity = Quantity::kTtft;
  double percentile = 99;  ///< 0: the mean
  Seconds below;
  bool operator==(const ServiceLimit&) const = default;
};
/// "ttft.p99<1s,tpot.p99<50ms"; "ttft.mean<...", "itl.max<...". Errors (kUsage) name what was found.
Result<std::vector<ServiceLimit>> parse_service_limits(std::string_view text);
std::string name(const ServiceLimit& limit);  ///< "ttft.p99<1s", as parse_service_limits reads it
/// What the run has there, of its counted and answered requests. Of inter-token times only those
/// percentiles that ServingPercentiles has: parse_service_limits refuses others.
Seconds limited_value(const FleetRun& run, const ServiceLimit& limit);
/// Whether a run meets them all (with every request answered).
bool meets(const FleetRun& run, std::span<const ServiceLimit> limits);
/// How far a run is from meeting them: the largest ratio of what it has to what is allowed; 1 or more: it
/// does not. Infinite where requests were not answered.
double limit_ratio(const FleetRun& run, std::span<const ServiceLimit> limits);

/// What a search goes through. Empty lists: everything that makes sense on the chips at hand.
struct FleetSpace {
  std::vector<ServingEngine> engines;
  std::vector<ServingLayout> layouts;
  std::vector<std::string> precisions;     ///< for serving_precision
  std::vector<std::int64_t> batch_tokens;  ///< EngineSettings::batch_tokens
  bool aggregated = true, disaggregated = false;
  unsigned most_chips = 0;  ///< of the fleet; 0: all of the cluster
};
/// What is asked.
struct FleetSearch {
  Model model;
  Cluster cluster;
  ServingWorkload workload;          ///< of the fleet
  std::vector<ServiceLimit> limits;  ///< all must hold
  FleetSpace space;
  double chip_usd_per_hour = 0;  ///< 0: not known
  unsigned threads = 0;          ///< 0: all cores; no effect on the answer
};
/// A fleet that was run.
struct FleetCandidate {
  Fleet fleet;
  ServingPercentiles ttft, tpot;
  double output_tokens_per_s = 0, output_tokens_per_s_per_chip = 0;
  double usd_per_million_tokens = 0;  ///< 0: prices unknown
  bool meets_limits = false;
};
struct FleetSearchCounts {
  std::uint64_t configurations = 0;  ///< of the space
  std::uint64_t impossible = 0, out_of_memory = 0, bounded = 0, simulated = 0;
};
struct FleetAnswer {
  std::vector<FleetCandidate> best;    ///< fewest chips (then cost, then name) first
  std::vector<FleetCandidate> pareto;  ///< of cost a token, TTFT, TPOT
  FleetSearchCounts counts;
};
/// The fewest chips that meet the limits, exact among the space; ties by throughput, then by order of
/// the space. Errors (kNoAnswer): none does; the hint names the nearest and what it misses.
Result<FleetAnswer> search_fleets(
    const FleetSearch& search, const Catalog& catalog,
    const std::function<void(const FleetSearchCounts&)>& progress = {});

}  // namespace flopcast
