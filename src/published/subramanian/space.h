// The plans that the published search tries (execution.py), in its order. Stricter than the paper's
// text in places: docs/theory/subramanian.md.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/published/subramanian.h"

namespace flopcast::published {

/// Tensor-parallel grid of one cell of the search.
struct Grid {
  std::int64_t tp1 = 1, tp2 = 1;
};

/// Answers "what comes next" for one case and size; every list honours the options' fixed degrees.
class Space {
 public:
  Space(const PaperCase& c, std::int64_t gpus, const PaperSearchOptions& options);

  std::vector<Grid> grids() const;
  std::vector<std::int64_t> panels(const Grid& grid) const;
  /// Pipeline and data-parallel degrees of a grid.
  std::vector<PaperPlan::Groups> sizes(const Grid& grid) const;
  /// Divisors of the global batch that may be a microbatch on this grid; which of them may depends
  /// on dp as well: microbatch x dp divides the global batch.
  std::vector<std::int64_t> microbatches(const Grid& grid) const;
  /// GPUs of each group in a domain: all if they fit, else every way to fill the domain exactly.
  std::vector<PaperPlan::Groups> placements(const PaperPlan::Groups& size) const;

 private:
  const PaperCase& c_;
  std::int64_t gpus_;
  const PaperSearchOptions& options_;
};

}  // namespace flopcast::published
