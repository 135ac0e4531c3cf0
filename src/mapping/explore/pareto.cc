#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "flopcast/mapping/explore.h"

namespace flopcast {
namespace {

using Triple = std::tuple<double, double, double>;

/// To 12 digits: sums of the same times in another order differ in the last bits, and that is no
/// advantage.
double rounded(double value) {
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 40)), exponent - 40);
}

Triple triple(const ExploreCost& cost) {
  return {rounded(cost.time), rounded(cost.price), rounded(cost.power)};
}

bool finite(const ExploreCost& cost) {
  return std::isfinite(cost.time) && std::isfinite(cost.price) && std::isfinite(cost.power);
}

/// The least power seen at each price or below; prices rise and powers fall.
class Staircase {
 public:
  bool covers(double price, double power) const {
    const auto above = steps_.upper_bound(price);
    return above != steps_.begin() && std::prev(above)->second <= power;
  }
  void add(double price, double power) {
    if (covers(price, power)) return;
    auto next = steps_.insert_or_assign(price, power).first;
    ++next;
    while (next != steps_.end() && next->second >= power) next = steps_.erase(next);
  }

 private:
  std::map<double, double> steps_;
};

}  // namespace

// In the order of (time, price, power) only an earlier point can beat a later one, and it does where its
// price and power are no more: equal points come together and do not beat one another.
std::vector<bool> pareto_front(std::span<const ExploreCost> costs) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (finite(costs[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return triple(costs[a]) < triple(costs[b]); });
  std::vector<bool> front(costs.size(), false);
  Staircase seen;
  for (std::size_t i = 0; i < order.size();) {
    const ExploreCost& cost = costs[order[i]];
    const bool beaten = seen.covers(cost.price, cost.power);
    for (; i < order.size() && triple(costs[order[i]]) == triple(cost); ++i) {
      front[order[i]] = !beaten;
    }
    seen.add(cost.price, cost.power);
  }
  return front;
}

}  // namespace flopcast
