// Floor 5: the search over layouts, batches and fleets: bounds first, then those that are left are run.
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
#include "flopcast/serving/largest.h"

namespace flopcast {

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
  std::vector<ServingLayout> layouts;      ///< all of them; empty: those of the degrees below
  std::vector<unsigned> tp, dp, ep, pp;    ///< degrees of layouts
  std::vector<std::string> precisions;     ///< for serving_precision; empty: the checkpoint's own
  std::vector<std::int64_t> batch_tokens;  ///< EngineSettings::batch_tokens
  std::vector<std::int64_t>
      max_requests;  ///< EngineSettings::max_requests; empty: the engine's own
  bool aggregated = true, disaggregated = false;  ///< pools that do both; pools apart
  unsigned most_chips = 0;                        ///< of the fleet; 0: all of the cluster
};
/// What is asked.
struct FleetSearch {
  Model model;
  Cluster cluster;
  ServingWorkload workload;          ///< of the fleet
  std::vector<ServiceLimit> limits;  ///< all must hold
  FleetSpace space;
  Router router = Router::kLeastLoaded;  ///< of every fleet
  /// true: every fleet up to most_chips that no other surpasses in cost, TTFT and TPOT; false: those of the
  /// fewest chips
  bool front = false;
  /// true: fleets of all chips (most_chips) by the largest load that holds the limits, as largest_load finds it; the
  /// workload's own load says nothing then
  bool largest = false;
  std::size_t best = 10;         ///< candidates to return
  double chip_usd_per_hour = 0;  ///< 0: not known
  unsigned threads = 0;          ///< 0: all cores; no effect on the answer
  unsigned shard = 0,
           shards = 1;  ///< search one part of `shards`: configurations shard, shard + shards, ...
};

/// A pool of a fleet, as a search chooses it.
struct PoolChoice {
  ServingLayout layout;                                         ///< of a replica
  unsigned replicas = 1;                                        ///< alike
  unsigned chips() const { return layout.chips() * replicas; }  ///< of them all
  bool operator==(const PoolChoice&) const = default;
};
/// What a search varies; the rest of a fleet is in its FleetSearch.
struct FleetChoice {
  ServingEngine engine = ServingEngine::kVllm;  ///< of all pools
  std::string precision;                        ///< for serving_precision
  std::int64_t batch_tokens = 0;                ///< EngineSettings::batch_tokens
  std::int64_t max_requests = 0;                ///< EngineSettings::max_requests
  PoolChoice pool;                              ///< Fleet::pool
  std::optional<PoolChoice> decode;             ///< Fleet::decode
  unsigned chips() const {
    return pool.chips() + (decode ? decode->chips() : 0);
  }  ///< of the fleet
  bool operator==(const FleetChoice&) const = default;
};
/// "vllm, fp8, 2 x tp 4, 8192 tokens an iteration".
std::string fleet_words(const FleetChoice& choice);
/// Errors (kUsage): serving_precision's.
Result<Fleet> fleet_of(const FleetSearch& search, const FleetChoice& choice);

/// Another fleet whose run comes to the very same numbers.
struct FleetTwin {
  FleetChoice choice;
  std::uint64_t number = 0;  ///< of its configuration in the space
};
/// The largest load that holds the limits, and at both ends of the band of forecasts. 0: none.
struct LoadMargin {
  double load = 0;  ///< by the forecast
  double next =
      0;  ///< the smallest one above it that was tried and does not hold; 0: there is none
  /// were the fleet as slow, as fast, as a tenth of measured ones are; never above, never below `load`
  double slow = 0, fast = 0;
  bool operator==(const LoadMargin&) const = default;
};
/// A fleet that was run, to the end of the load.
struct FleetCandidate {
  FleetChoice choice;
  std::uint64_t number = 0;     ///< of its configuration in the space
  std::vector<FleetTwin> same;  ///< in the order of the space, behind this one
  ServingPercentiles ttft, tpot, inter_token, latency;  ///< as of FleetRun
  double output_tokens_per_s = 0, requests_per_s = 0;   ///< of the fleet
  double output_tokens_per_s_per_chip = 0;              ///< of it, for every chip
  /// 1e6 chip-seconds of the fleet by output tokens made in them, times the price; without a price the
  /// chip-hours themselves
  double cost_per_million_tokens = 0;
  double ratio = 0;  ///< limit_ratio: below 1 it meets the limits
  /// the same at the slow end of the band of forecasts, of fleets that meet them; 0: not looked at
  double slow_ratio = 0;
  LoadMargin largest;  ///< where it was looked for; other numbers are of a run at its `load` then
  std::int64_t preemptions = 0;  ///< of all replicas
};
/// Every configuration (a fleet but for its counts of replicas) is counted once: configurations =
/// impossible + out_of_memory + bounded + simulated.
struct FleetSearchCounts {
  std::uint64_t configurations = 0;  ///< of the space, or of its shard
  std::uint64_t impossible = 0;      ///< that deployment_problems refuses
  std::uint64_t out_of_memory = 0;   ///< that do not fit, or hold the longest request
  std::uint64_t bounded = 0;         ///< that bounds ruled out with any count of replicas looked at
  std::uint64_t simulated = 0;       ///< that were run with some count of replicas
  std::uint64_t runs = 0;            ///< fleets that were run
};
struct FleetAnswer {
  /// that meet the limits: of the fewest chips, those farthest below the limits first; with `front` of least cost
  /// first; with `largest` of the largest load first. Fleets with the same numbers are one candidate
  std::vector<FleetCandidate> best;
  /// of all those found, what no other surpasses in cost, mean TTFT and mean TPOT; by cost. None with `largest`
  std::vector<FleetCandidate> pareto;
  std::optional<FleetCandidate>
      nearest;  ///< where none meets them: the least limit_ratio of those run
  /// where no configuration can run: why the first of those that want too much memory does not, else the first
  std::optional<Diagnostic> problem;
  std::uint64_t problem_number = 0;  ///< of that configuration
  /// of what can run: the least limit_ratio that bounds leave, and the fewest chips; 1 or more, or more than there
  /// are: nothing had to be run
  double least_ratio = 0;
  std::uint64_t least_chips = 0;
  FleetSearchCounts counts;  ///< what became of the space
};
/// The fewest chips that meet the limits, exact among the space: fleets of fewer chips were all run, or ruled
/// out by bounds. That none meets them is no error: see fleet_refusal. Errors: a workload or a space that
/// makes no sense (kUsage); those of simulate(); kNoAnswer: it was stopped.
/// @param progress told after each count of chips; false stops the search
Result<FleetAnswer> search_fleets(
    const FleetSearch& search, const Catalog& catalog,
    const std::function<bool(const FleetSearchCounts&)>& progress = {});
/// Requests that it runs at once: users of a closed loop above them only queue.
std::int64_t seats_of(const Fleet& fleet);
/// Why there is none: kTooLarge where nothing fits in memory, kNoAnswer where limits are missed, with the
/// nearest and what it misses. @pre answer.best is empty
Diagnostic fleet_refusal(const FleetSearch& search, const FleetAnswer& answer);
/// The parts of one search, as the whole would have answered; counts are sums. @param shards in any order
FleetAnswer merge_fleet_answers(const FleetSearch& search, std::span<const FleetAnswer> shards);

}  // namespace flopcast
