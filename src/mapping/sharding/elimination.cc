#include "mapping/sharding/elimination.h"

#include <algorithm>

namespace flopcast::mapping {
namespace {

/// What was decided about a variable when it left: its best value per combination of neighbours.
struct Bucket {
  std::uint32_t variable = 0;
  std::vector<std::uint32_t> neighbours;
  std::vector<std::uint8_t> best;
};

class Elimination {
 public:
  Elimination(const std::vector<std::uint8_t>& values, std::vector<LabelFactor> factors,
              std::size_t most_entries)
      : values_(values), factors_(std::move(factors)), most_entries_(most_entries) {}

  std::optional<Labelling> run() {
    std::vector<bool> gone(values_.size(), false);
    for (std::size_t round = 0; round < values_.size(); ++round) {
      const std::uint32_t variable = cheapest_to_join(gone);
      gone[variable] = true;
      if (!eliminate(variable)) return std::nullopt;
    }
    Labelling labelling;
    for (const LabelFactor& factor : factors_) {
      labelling.cost = labelling.cost + factor.costs[0];
    }
    if (labelling.cost.never()) return std::nullopt;
    labelling.value.assign(values_.size(), 0);
    for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
      std::size_t at = 0;
      for (const std::uint32_t neighbour : bucket->neighbours) {
        at = at * values_[neighbour] + labelling.value[neighbour];
      }
      labelling.value[bucket->variable] = bucket->best[at];
    }
    return labelling;
  }

 private:
  std::vector<std::uint32_t> neighbours_of(std::uint32_t variable) const {
    std::vector<std::uint32_t> all;
    for (const LabelFactor& factor : factors_) {
      if (std::find(factor.variables.begin(), factor.variables.end(), variable) ==
          factor.variables.end()) {
        continue;
      }
      all.insert(all.end(), factor.variables.begin(), factor.variables.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::erase(all, variable);
    return all;
  }

  double entries(const std::vector<std::uint32_t>& variables) const {
    double count = 1;
    for (const std::uint32_t variable : variables) count *= values_[variable];
    return count;
  }

  /// The variable whose elimination leaves the smallest table, the first of equals.
  std::uint32_t cheapest_to_join(const std::vector<bool>& gone) const {
    std::uint32_t chosen = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t v = 0; v < values_.size(); ++v) {
      if (gone[v]) continue;
      const double size = entries(neighbours_of(v));
      if (size < least) {
        least = size;
        chosen = v;
      }
    }
    return chosen;
  }

  bool eliminate(std::uint32_t variable) {
    Bucket bucket{variable, neighbours_of(variable), {}};
    if (entries(bucket.neighbours) * values_[variable] > static_cast<double>(most_entries_)) {
      return false;
    }
    std::vector<LabelFactor> own;
    std::erase_if(factors_, [&](LabelFactor& factor) {
      const bool mine = std::find(factor.variables.begin(), factor.variables.end(), variable) !=
                        factor.variables.end();
      if (mine) own.push_back(std::move(factor));
      return mine;
    });
    LabelFactor joined{bucket.neighbours, {}};
    std::vector<std::uint8_t> value(values_.size(), 0);
    const auto count = static_cast<std::size_t>(entries(bucket.neighbours));
    for (std::size_t at = 0; at < count; ++at) {
      std::size_t rest = at;
      for (std::size_t i = bucket.neighbours.size(); i-- > 0;) {
        const std::uint32_t neighbour = bucket.neighbours[i];
        value[neighbour] = static_cast<std::uint8_t>(rest % values_[neighbour]);
        rest /= values_[neighbour];
      }
      keep_best(variable, own, value, joined, bucket);
    }
    factors_.push_back(std::move(joined));
    buckets_.push_back(std::move(bucket));
    return true;
  }

  void keep_best(std::uint32_t variable, const std::vector<LabelFactor>& own,
                 std::vector<std::uint8_t>& value, LabelFactor& joined, Bucket& bucket) const {
    LabelCost least;
    std::uint8_t best = 0;
    for (std::uint8_t v = 0; v < values_[variable]; ++v) {
      value[variable] = v;
      LabelCost cost;
      for (const LabelFactor& factor : own) cost = cost + factor.costs[index(factor, value)];
      if (v == 0 || cost < least) {
        least = cost;
        best = v;
      }
    }
    joined.costs.push_back(least);
    bucket.best.push_back(best);
  }

  std::size_t index(const LabelFactor& factor, const std::vector<std::uint8_t>& value) const {
    std::size_t at = 0;
    for (const std::uint32_t variable : factor.variables) {
      at = at * values_[variable] + value[variable];
    }
    return at;
  }

  const std::vector<std::uint8_t>& values_;
  std::vector<LabelFactor> factors_;
  const std::size_t most_entries_;
  std::vector<Bucket> buckets_;
};

}  // namespace

std::optional<Labelling> cheapest_labelling(const std::vector<std::uint8_t>& values,
                                            std::vector<LabelFactor> factors,
                                            std::size_t most_entries) {
  return Elimination(values, std::move(factors), most_entries).run();
}

}  // namespace flopcast::mapping
