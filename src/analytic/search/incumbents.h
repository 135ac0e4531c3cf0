// The best plans so far, and the Pareto front of time against memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <vector>

namespace flopcast::analytic::search {

/// @tparam Found has time and memory (quantities) and a number that is its own. What is kept does
/// not depend on the order of offers; nothing may be offered twice.
template <typename Found>
class Incumbents {
 public:
  explicit Incumbents(std::size_t best) : count_(best) {}

  void offer(const Found& found) {
    offer_best(found);
    offer_front(found);
  }
  bool empty() const {
    return best_.empty() && front_.empty();
  }  ///< nothing was offered that is kept

  /// A plan of this memory that takes longer is neither among the best nor on the front.
  double limit(double memory) const {
    const auto leaner = std::partition_point(front_.begin(), front_.end(), [&](const Found& found) {
      return found.memory.value > memory;
    });
    const double front = leaner == front_.end() ? kNever : leaner->time.value;
    return std::max(front, count_ == 0             ? -kNever
                           : best_.size() < count_ ? kNever
                                                   : best_.back().time.value);
  }

  void offer_best(const Found& found) {
    const auto key = [](const Found& one) { return std::tuple(one.time.value, one.number); };
    const auto after = std::partition_point(
        best_.begin(), best_.end(), [&](const Found& one) { return key(one) < key(found); });
    if (best_.size() == count_ && after == best_.end()) return;
    best_.insert(after, found);
    if (best_.size() > count_) best_.pop_back();
  }

  void offer_front(const Found& found) {
    const auto rank = [](const Found& one) {
      return std::tuple(one.time.value, one.memory.value, one.number);
    };
    auto at = std::partition_point(front_.begin(), front_.end(),
                                   [&](const Found& one) { return rank(one) < rank(found); });
    // All before it are as fast, the last of them is the leanest.
    if (at != front_.begin() && std::prev(at)->memory.value <= found.memory.value) return;
    const auto leaner = std::find_if(
        at, front_.end(), [&](const Found& one) { return one.memory.value < found.memory.value; });
    at = front_.erase(at, leaner);
    front_.insert(at, found);
  }

  /// Fastest first; equal times by number.
  const std::vector<Found>& best() const { return best_; }
  /// Fastest first, each leaner than the one before it.
  const std::vector<Found>& front() const { return front_; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  std::size_t count_;
  std::vector<Found> best_, front_;
};

}  // namespace flopcast::analytic::search
