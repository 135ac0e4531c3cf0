// Which fits a chip's kernel model may draw on: the user's, the chip's own from the catalogue, and
// those of its relatives, nearest first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost/model/fits.h"

namespace flopcast::cost {

struct Candidate {
  std::string chip;        ///< whose fits these are
  double distance = 0;     ///< 0: the chip's own; 1 ..: the same architecture; 2 ..: others
  double uncertainty = 1;  ///< factor that scaling to another chip adds to the band, either way
  std::function<std::shared_ptr<const Fits>()> load;  ///< parsed once, when first needed
  bool given = false;     ///< the user's: taken on a chip with the rates that it tells
  std::string file = {};  ///< of the user's that it is in
  bool own() const { return distance == 0; }
};

/// Sorted by distance.
Result<std::vector<Candidate>> candidates_for(const Chip& chip, const Catalog& catalog,
                                              const KernelModelOptions& options);
Candidate candidate_of(std::shared_ptr<const Fits> fits);

/// How unlike two chips are: architecture, then vendor, then rates.
double chip_distance(const Chip& a, const Chip& b);
/// Scaled times of a chip of the same architecture, of the same vendor, of another vendor; from
/// leaving chips out of the measured tables, see docs/theory/kernels.md.
double transfer_uncertainty(const Chip& a, const Chip& b);

}  // namespace flopcast::cost
