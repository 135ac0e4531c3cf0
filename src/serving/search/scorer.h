// Fleets as the search prices them: bounds of their parts, then the simulator.
#pragma once

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

class FleetScorer {
 public:
  /// Prices every pool that occurs, once. Errors: Topology::build's, of split fleets.
  static Result<FleetScorer> make(const FleetSearch& search, const Catalog& catalog,
                                  const SearchSpace& space, const Demand& demand);

  std::size_t size() const { return numbers_.size(); }
  Assessment assess(std::size_t i) const;
  FleetBound bound(std::size_t i, unsigned replicas, unsigned decode) const;
  Result<FleetScore> run(std::size_t i, unsigned replicas, unsigned decode) const;

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
  PoolBound bound_of(const PricedPool& pool, PoolRole role) const;
  const Pool& pool(std::size_t i) const { return pools_[places_[i].first]; }
  const Pool& decode(std::size_t i) const { return pools_[places_[i].second]; }
  const PoolBound& pool_bound(std::size_t i) const {
    return configuration(i).decode ? pool(i).prompts : pool(i).both;
  }
  /// Why the configuration cannot run.
  const std::optional<Diagnostic>& problem_of(std::size_t i) const;
  std::vector<double> parts_to_try() const;
  Result<FleetRun> run_fleet(std::size_t i, unsigned replicas, unsigned decode, Time longest) const;
  void tell(const FleetRun& run, FleetScore& score) const;

  const FleetSearch* search_;
  const Catalog* catalog_;
  const SearchSpace* space_;
  const Demand* demand_;
  std::vector<std::size_t> numbers_;                         ///< of the shard's configurations
  std::vector<Pool> pools_;                                  ///< of them all, each once
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< by place in numbers_: in pools_
  std::optional<Topology> topology_;                         ///< of split fleets
};

}  // namespace flopcast::serving
