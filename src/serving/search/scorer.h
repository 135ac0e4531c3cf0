// Fleets as the search prices them: bounds of their parts, then the simulator.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "serving/fleet/priced.h"
#include "serving/search/demand.h"
#include "serving/search/run.h"
#include "serving/search/space.h"

namespace flopcast::serving {

/// What bounds know of one pool of a configuration.
struct PoolBound {
  TokenWorks works;
  double ttft = 0, tpot = 0;          ///< least means
  double ratio = 0;                   ///< least ratio to the limits
  unsigned least = 1;                 ///< replicas
  std::optional<Diagnostic> problem;  ///< why it cannot run
};

/// What a replica computes.
struct PoolRole {
  bool prompts = true, answers = true;
};

/// What is asked at each load, made once; for any thread.
class LoadDemands {
 public:
  explicit LoadDemands(const ServingWorkload& workload) : workload_(workload) {}
  Result<std::shared_ptr<const Demand>> at(double load);

 private:
  const ServingWorkload& workload_;
  std::mutex mutex_;
  std::map<double, std::shared_ptr<const Demand>> known_;
};

class FleetScorer {
 public:
  /// Prices every pool that occurs, once. Errors: Topology::build's, of split fleets.
  static Result<FleetScorer> make(const FleetSearch& search, const Catalog& catalog,
                                  const SearchSpace& space, const Demand& demand);

  std::size_t size() const { return numbers_.size(); }
  Assessment assess(std::size_t i) const;
  FleetBound bound(std::size_t i, unsigned replicas, unsigned decode) const;
  Result<FleetScore> run(std::size_t i, unsigned replicas, unsigned decode) const;
  Result<FleetScore> run_whole(std::size_t i, unsigned replicas, unsigned decode) const;
  /// Whether the limits hold at a load: by bounds, by the run's beginning, by the whole.
  Result<TriedLoad> try_load(std::size_t i, unsigned replicas, unsigned decode, double load) const;
  /// The run at a load, whole.
  Result<FleetScore> run_at(std::size_t i, unsigned replicas, unsigned decode, double load) const;
  /// Requests a second that are more than the fleet can answer.
  double most_rate(std::size_t i, unsigned replicas, unsigned decode) const;
  LoadRange loads(std::size_t i, unsigned replicas, unsigned decode) const;

  const Configuration& configuration(std::size_t i) const {
    return space_->configurations[numbers_[i]];
  }
  /// Of the first configuration whose memory does not suffice, else of the first that is impossible; its number.
  std::optional<std::pair<Diagnostic, std::uint64_t>> problem() const;

 private:
  /// Replicas alike, whatever configurations have them.
  struct Pool {
    const Configuration* of = nullptr;  ///< one that has them
    ServingLayout layout;
    std::optional<PricedPool> priced;  ///< none where no fleet of them needs to be run
    PoolBound both, prompts, answers;  ///< by what they compute; those that the space has
  };
  FleetScorer(const FleetSearch& search, const Catalog& catalog, const SearchSpace& space,
              const Demand& demand);

  void find_pools();
  void price(Pool& pool) const;
  PoolBound bound_of(const PricedPool& pool, PoolRole role, const Demand& demand) const;
  const Pool& pool(std::size_t i) const { return pools_[places_[i].first]; }
  const Pool& decode(std::size_t i) const { return pools_[places_[i].second]; }
  const PoolBound& pool_bound(std::size_t i) const {
    return configuration(i).decode ? pool(i).prompts : pool(i).both;
  }
  /// Why the configuration cannot run.
  const std::optional<Diagnostic>& problem_of(std::size_t i) const;
  double work_per_request(std::size_t i, unsigned replicas, unsigned decode) const;
  bool out_of_bounds(std::size_t i, unsigned replicas, unsigned decode, const Demand& demand) const;
  /// The fleet's run of a demand.
  Result<FleetRun> run_fleet(const FleetScore& fleet, const ServingWorkload& workload,
                             const Demand& demand, const FleetOptions& options) const;
  /// The least ratio that the beginning of the run shows, where that is 1 or more; else 0.
  Result<double> ratio_of_beginning(const FleetScore& fleet, const ServingWorkload& workload,
                                    const Demand& demand) const;
  Result<FleetScore> score_of(FleetScore score, const ServingWorkload& workload,
                              const Demand& demand, bool gaps = true) const;
  FleetScore unscored(std::size_t i, unsigned replicas, unsigned decode) const;
  void tell(const FleetRun& run, FleetScore& score) const;

  const FleetSearch* search_;
  const Catalog* catalog_;
  const SearchSpace* space_;
  const Demand* demand_;
  std::vector<std::size_t> numbers_;                         ///< of the shard's configurations
  std::vector<Pool> pools_;                                  ///< of them all, each once
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< by place in numbers_: in pools_
  std::optional<Topology> topology_;                         ///< of split fleets
  std::unique_ptr<LoadDemands> demands_;                     ///< of other loads
};

}  // namespace flopcast::serving
