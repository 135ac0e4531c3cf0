#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flopcast/serving/iteration.h"
#include "serving/iteration/tables.h"

namespace flopcast {

namespace serving {
/// An iteration as prices see it.
struct IterationShape {
  bool prefills = false, eager = false;
  std::int64_t longest = 0;   ///< tokens of the longest rank, padded
  std::int64_t all = 0;       ///< tokens of all ranks
  std::int64_t rows = 0;      ///< that sample, of the rank with most
  std::int64_t decodes = 0;   ///< of the rank with most
  std::int64_t requests = 0;  ///< of the rank with most: each has a scheduler of its own
};
}  // namespace serving

struct IterationModel::State {
  State(const Deployment& deployment, const ServingFactors& factors,
        std::shared_ptr<const serving::ClusterModels> models, const serving::Constants& constants);

  serving::Pricer pricer;
  serving::PriceTables decode, mixed;  ///< iterations without prefills, and with
  ServingLayout layout;
  std::vector<std::int64_t> graphs;  ///< batches that were captured
  bool graphs_of_tokens = false;     ///< their sizes count tokens, not requests
  bool overlap = true;
  std::int64_t queries = 1;  ///< of a decode
  std::int64_t cap = 0;
  std::int64_t host_serial = 0, host_serial_request = 0, host = 0, host_request = 0,
               launches = 0;  ///< ps
  Time front, back;
  Basis basis = Basis::kFitted;
  std::string source;

  using Shape = serving::IterationShape;
  Shape shape_of(std::span<const RankLoad> ranks) const;
  /// Tokens that a batch of so many decodes is run as; 0 added where nothing was captured for it.
  std::int64_t padded(std::int64_t decodes) const;
  bool captured(std::int64_t decodes) const;
  /// Why nothing can be said of it: a price that is more than kMostPrice.
  std::optional<Diagnostic> too_slow() const;
  /// What does not depend on contexts, on the chip.
  std::int64_t chip_base(const Shape& shape) const;
  /// Of a rank's attention.
  std::int64_t rank_time(const RankLoad& rank, bool prefills) const;
  /// More a step of decodes.
  std::int64_t rank_growth(const RankLoad& rank) const;
  /// What passes whatever the chip does, and what at least passes beside it.
  std::int64_t added(const Shape& shape) const;
  std::int64_t at_least(const Shape& shape) const;
};

}  // namespace flopcast
