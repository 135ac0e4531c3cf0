// Prices of a deployment as integers: by knots of the token grid, and per token of context.
#pragma once

#include <array>
#include <vector>

#include "serving/iteration/price.h"
#include "serving/iteration/token_grid.h"

namespace flopcast::serving {

/// Picoseconds by knot of the grid: of every part, and their sum.
struct PartTable {
  std::array<std::vector<std::int64_t>, kParts> parts;  ///< empty: nothing of it
  std::vector<std::int64_t> sum;
};
/// Picoseconds of two parts of a kind: in layers without a cap, and with one.
struct Slopes {
  std::int64_t full = 0, capped = 0;
};

/// Prices of iterations with prefills, or of those without.
struct PriceTables {
  PartTable own;                  ///< by tokens of the longest rank
  PartTable all;                  ///< by tokens of all ranks
  PartTable head;                 ///< by rows that sample, of the longest rank
  PartTable drafts;               ///< by decodes of the longest rank
  Slopes context;                 ///< per token of context of decodes
  std::int64_t state = 0;         ///< per decode
  std::int64_t decode_fixed = 0;  ///< where anything decodes
  // Only with prefills. Pairs are priced in 2^-12 ps: there are many.
  Slopes pair;
  std::int64_t reread = 0;         ///< 2^-12 ps per token of context read again
  std::int64_t prefill_token = 0;  ///< per token
  std::int64_t prefill_fixed = 0;
};
inline constexpr int kFine = 12;  ///< log2 of the finest unit's share of a picosecond

/// Prices at the knots of the grid in seconds: what both kinds of tables are scaled from.
struct KnotCosts {
  std::vector<PartCosts> own, all, head, drafts;
};
/// @param most tokens of a rank that an iteration may have.
KnotCosts make_costs(const Pricer& pricer, std::int64_t most, unsigned ranks);
/// @param factor on all of them.
PriceTables make_tables(const Pricer& pricer, const KnotCosts& costs, bool prefills, double factor);

}  // namespace flopcast::serving
