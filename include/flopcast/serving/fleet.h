// Floor 5: replicas behind a router, aggregated or split in prefill and decode pools, under a workload; and what its
// clients see.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving.h"
#include "flopcast/serving/iteration.h"
#include "flopcast/serving/memory.h"
#include "flopcast/serving/replica.h"
#include "flopcast/serving/requests.h"

namespace flopcast {

/// Who gets the next request.
enum class Router : std::uint8_t { kRoundRobin, kLeastLoaded, kPrefixAware };
std::string_view name(Router router);                       ///< "round-robin"
std::optional<Router> parse_router(std::string_view text);  ///< by the names above

/// When replicas are started and stopped, checked every `interval`.
struct Autoscaling {
  unsigned least = 1, most = 1;     ///< replicas
  double requests_per_replica = 0;  ///< outstanding (waiting and running), aimed at
  Time interval = Time::from_us(15'000'000), start_up = Time::from_us(60'000'000);
  Time idle_before_stop = Time::from_us(300'000'000);
};
/// A replica that dies.
struct ReplicaFault {
  unsigned replica = 0;
  Time at, back = Time::max();  ///< when; when it serves again
  bool retried = true;          ///< its requests are sent to others anew; false: they are lost
};

/// Replicas alike, as a fleet has them.
struct ReplicaPool {
  Deployment deployment;
  unsigned replicas = 1;
  ServingFactors factors;
};
/// Everything that serves.
struct Fleet {
  ReplicaPool pool;  ///< all of them; with `decode`: those that compute prompts
  std::optional<ReplicaPool>
      decode;  ///< those that make answers, where prompts are computed elsewhere
  Router router = Router::kLeastLoaded;
  std::optional<Autoscaling> autoscaling;
  std::vector<ReplicaFault> faults;
  unsigned chips() const;  ///< of all replicas
};

/// What became of a request.
struct RequestOutcome {
  Time sent, scheduled, first_token, done;  ///< Time::max(): never
  std::int64_t input = 0, output = 0;
  std::uint32_t replica = 0;  ///< the last that had it
  std::uint16_t preemptions = 0, retries = 0;
  bool counted = true;                              ///< false: warm-up
  Time ttft() const { return first_token - sent; }  ///< @pre it has one
  /// (done - first token) / (output - 1); 0 for answers of one token
  Time tpot() const;
};

/// Percentiles of a quantity over requests (nearest rank) and their mean.
struct ServingPercentiles {
  Seconds mean, p50, p90, p95, p99, max;
  std::uint64_t count = 0;
};
/// Of these times; empty: all 0. Reorders `times`.
ServingPercentiles percentiles_of(std::vector<Time>& times);

/// What a run came to.
struct FleetRun {
  std::vector<RequestOutcome> requests;    ///< in the order of the workload
  ServingPercentiles ttft, tpot, latency;  ///< of counted requests that were answered
  /// gaps between tokens, every gap of every request (not their means)
  ServingPercentiles inter_token;
  std::uint64_t answered = 0, lost = 0, unanswered = 0;
  Time begin, end;                 ///< first sent, last answered, of the counted
  double output_tokens_per_s = 0;  ///< of all replicas
  double total_tokens_per_s = 0;   ///< prompts included
  double requests_per_s = 0;
  double replica_seconds = 0;                         ///< that were paid for (autoscaling)
  ReplicaCounts counts;                               ///< of all replicas
  std::vector<std::vector<IterationSample>> samples;  ///< by replica, where asked for
  std::int64_t kv_blocks = 0;                         ///< of a replica
  /// Answers whose TTFT and TPOT are both within, as a share of all that count.
  double within(Seconds most_ttft, Seconds most_tpot) const;
};

/// Whether requests of an open load come faster than the fleet takes them: in the second half of their arrivals the
/// number of those without a first token grows by more than a twentieth of those that come, and by more than chance.
bool outpaced(const FleetRun& run);

/// How to run.
struct FleetOptions {
  bool leap = true;             ///< false: every iteration by itself; the same answers
  bool record_samples = false;  ///< keep what timelines show
  bool inter_token = true;      ///< count gaps between tokens
  Time longest = Time::max();   ///< stop there; what is not answered counts as unanswered
};
/// Errors: those of its parts; kTooLarge: a request that no replica can ever hold; kNoAnswer: a queue
/// that never drains (an open loop above the fleet's rate is no error: it is reported).
Result<FleetRun> simulate(const Fleet& fleet, const ServingWorkload& workload,
                          const Catalog& catalog, const FleetOptions& options = {});
/// A fleet whose prices are made: for many workloads.
class PreparedFleet {
 public:
  static Result<PreparedFleet> make(const Fleet& fleet, const Catalog& catalog);
  Result<FleetRun> run(const ServingWorkload& workload, const FleetOptions& options = {}) const;
  const Fleet& fleet() const;
  const IterationModel& model(bool decode = false) const;  ///< of the pool; of the decode pool
  const ServingMemory& memory(bool decode = false) const;  ///< likewise

  PreparedFleet(PreparedFleet&&) noexcept;
  PreparedFleet& operator=(PreparedFleet&&) noexcept;
  ~PreparedFleet();

 private:
  struct State;
  explicit PreparedFleet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
