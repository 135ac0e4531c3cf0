// What a search goes through: configurations, which are fleets but for their counts of replicas.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flopcast/serving/search.h"

namespace flopcast::serving {

/// A fleet but for its counts of replicas. `number` is its place in the space.
struct Configuration {
  std::uint64_t number = 0;
  ServingEngine engine = ServingEngine::kVllm;
  std::size_t precision = 0;      ///< in SearchSpace::precisions
  std::int64_t batch_tokens = 0;  ///< EngineSettings::batch_tokens
  std::int64_t max_requests = 0;  ///< EngineSettings::max_requests; 0: the engine's own
  ServingLayout layout;           ///< of the pool, or of prefill
  std::optional<ServingLayout> decode;
};
/// All of them, in order: what changes fastest is last.
struct SearchSpace {
  std::vector<std::string> precisions;
  std::vector<ServingPrecision> values;  ///< of the precisions
  std::vector<Configuration> configurations;
  unsigned most_chips = 0;
};
/// Errors (kUsage): a precision that is none, more chips than there are, neither kind of pool.
Result<SearchSpace> search_space(const FleetSearch& search);

/// The layouts that make sense for the model on the cluster, of the space's degrees where it tells some: tp and ranks
/// inside a node, each a power of two or all chips of the node; stages that divide the chips; experts shared out not
/// at all or over all.
std::vector<ServingLayout> usual_layouts(const FleetSearch& search, unsigned most_chips);

/// With so many replicas of each pool. @param decode 0: there is no such pool
FleetChoice choice_of(const SearchSpace& space, const Configuration& configuration,
                      unsigned replicas, unsigned decode);

/// The fleet that it is.
Fleet fleet_with(const FleetSearch& search, const FleetChoice& choice,
                 const ServingPrecision& precision);

}  // namespace flopcast::serving
