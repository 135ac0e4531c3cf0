// Floor 5: the cheapest labelling of a network of small tables: bucket elimination.
//
// Variables have few values; each factor gives a cost for every combination of its variables'
// values. Eliminating a variable joins its factors and keeps, for every combination of the
// neighbours, its cheapest value. Exact; time and memory are exponential only in the width met
// (Dechter, "Bucket elimination", 1999). Costs are tuples of integers compared in order, so ties are
// broken the same way in any order of summation.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace flopcast::mapping {

struct LabelCost {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;
  std::array<std::int64_t, 3> parts{};
  LabelCost operator+(const LabelCost& o) const {
    LabelCost sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      sum.parts[i] = parts[i] + o.parts[i] < kNever ? parts[i] + o.parts[i] : kNever;
    }
    return sum;
  }
  auto operator<=>(const LabelCost&) const = default;
  bool never() const { return parts[0] >= kNever; }
};

struct LabelFactor {
  std::vector<std::uint32_t> variables;
  std::vector<LabelCost> costs;  ///< the last variable's value varies fastest
};

struct Labelling {
  LabelCost cost;
  std::vector<std::uint8_t> value;  ///< per variable
};

/// The first of the cheapest labellings; nothing if none is possible or a table would have more than
/// `most_entries`.
/// @param values number of values per variable
std::optional<Labelling> cheapest_labelling(const std::vector<std::uint8_t>& values,
                                            std::vector<LabelFactor> factors,
                                            std::size_t most_entries = 20'000'000);

}  // namespace flopcast::mapping
