// Fleets as the search prices them: bounds of their parts, then the simulator.
#pragma once

#include <memory>
#include <vector>

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

class FleetScorer {
 public:
  FleetScorer(const FleetSearch& search, const Catalog& catalog, const SearchSpace& space,
              const Demand& demand);

  std::size_t size() const { return numbers_.size(); }
  Assessment assess(std::size_t i) const;
  FleetBound bound(std::size_t i, unsigned replicas, unsigned decode) const;
  Result<FleetScore> run(std::size_t i, unsigned replicas, unsigned decode) const;

  const Configuration& configuration(std::size_t i) const {
    return space_.configurations[numbers_[i]];
  }
  /// Of the first configuration whose memory does not suffice, else of the first that is impossible; its number.
  std::optional<std::pair<Diagnostic, std::uint64_t>> problem() const;

 private:
  struct Bounds {
    PoolBound pool, decode;
  };
  PoolBound pool_bound(const Deployment& deployment, bool prompts, bool answers) const;
  std::vector<double> parts_to_try() const;
  Result<FleetRun> run_fleet(const PreparedFleet& fleet, Time longest) const;
  void tell(const FleetRun& run, FleetScore& score) const;

  const FleetSearch& search_;
  const Catalog& catalog_;
  const SearchSpace& space_;
  const Demand& demand_;
  std::vector<std::size_t> numbers_;    ///< of the shard's configurations
  mutable std::vector<Bounds> bounds_;  ///< by place in numbers_; assess() writes its own
};

}  // namespace flopcast::serving
