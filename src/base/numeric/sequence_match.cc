#include "base/numeric/sequence_match.h"

#include <algorithm>
#include <cstddef>

namespace flopcast {
namespace {

constexpr std::int64_t kMostEdits = 2048;  // searched from either side before settling for less

/// Parts of both sequences that are matched with each other.
struct MatchedBox {
  std::int64_t a_begin, a_end, b_begin, b_end;
};

class SequenceMatcher {
 public:
  SequenceMatcher(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b)
      : a_(a), b_(b), middle_(static_cast<std::int64_t>(a.size() + b.size()) + 1) {
    forward_.resize(static_cast<std::size_t>(2 * middle_ + 1));
    backward_.resize(forward_.size());
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> run() {
    std::vector<MatchedBox> boxes;
    boxes.push_back(
        {0, static_cast<std::int64_t>(a_.size()), 0, static_cast<std::int64_t>(b_.size())});
    while (!boxes.empty()) {
      MatchedBox box = boxes.back();
      boxes.pop_back();
      trim(box);
      if (box.a_begin == box.a_end || box.b_begin == box.b_end) continue;
      const auto [a, b] = split(box);
      boxes.push_back({box.a_begin, a, box.b_begin, b});
      boxes.push_back({a, box.a_end, b, box.b_end});
    }
    std::sort(pairs_.begin(), pairs_.end());
    return std::move(pairs_);
  }

 private:
  bool equal(std::int64_t a, std::int64_t b) const {
    return a_[static_cast<std::size_t>(a)] == b_[static_cast<std::size_t>(b)];
  }
  void add(std::int64_t a, std::int64_t b) {
    pairs_.emplace_back(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  }
  std::int64_t& forward(std::int64_t k) { return forward_[static_cast<std::size_t>(middle_ + k)]; }
  std::int64_t& backward(std::int64_t k) {
    return backward_[static_cast<std::size_t>(middle_ + k)];
  }

  // Equal ends always belong to a longest match.
  void trim(MatchedBox& box) {
    while (box.a_begin < box.a_end && box.b_begin < box.b_end && equal(box.a_begin, box.b_begin)) {
      add(box.a_begin++, box.b_begin++);
    }
    while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
           equal(box.a_end - 1, box.b_end - 1)) {
      add(--box.a_end, --box.b_end);
    }
  }

  // Furthest point on diagonal k (= x - y) after d edits; `same(x, y)` compares.
  template <typename Reach, typename Same>
  static std::int64_t advance(Reach&& reach, std::int64_t k, std::int64_t d, std::int64_t n,
                              std::int64_t m, Same&& same) {
    const bool down = k == -d || (k != d && reach(k - 1) < reach(k + 1));
    std::int64_t x = down ? reach(k + 1) : reach(k - 1) + 1;
    std::int64_t y = x - k;
    while (x < n && y < m && same(x, y)) ++x, ++y;
    return reach(k) = x;
  }

  // A point on a longest match of the box, reached from both corners at once. Never a corner.
  std::pair<std::int64_t, std::int64_t> split(const MatchedBox& box) {
    const std::int64_t n = box.a_end - box.a_begin, m = box.b_end - box.b_begin, delta = n - m;
    const auto ahead = [&](std::int64_t k) -> std::int64_t& { return forward(k); };
    const auto behind = [&](std::int64_t k) -> std::int64_t& { return backward(k); };
    const auto same_ahead = [&](std::int64_t x, std::int64_t y) {
      return equal(box.a_begin + x, box.b_begin + y);
    };
    const auto same_behind = [&](std::int64_t x, std::int64_t y) {
      return equal(box.a_end - 1 - x, box.b_end - 1 - y);
    };
    forward(1) = backward(1) = 0;
    const std::int64_t most = std::min((n + m + 1) / 2, kMostEdits);
    for (std::int64_t d = 0; d <= most; ++d) {
      // Diagonals that have left the box are not followed.
      const std::int64_t low = -(d - 2 * std::max<std::int64_t>(0, d - m));
      const std::int64_t high = d - 2 * std::max<std::int64_t>(0, d - n);
      for (std::int64_t k = low; k <= high; k += 2) {
        const std::int64_t x = advance(ahead, k, d, n, m, same_ahead);
        const bool in_reach = delta % 2 != 0 && std::abs(delta - k) <= d - 1;
        if (in_reach && x + backward(delta - k) >= n) {
          return {box.a_begin + x, box.b_begin + x - k};
        }
      }
      for (std::int64_t k = low; k <= high; k += 2) {
        const std::int64_t x = advance(behind, k, d, n, m, same_behind);
        const bool in_reach = delta % 2 == 0 && std::abs(delta - k) <= d;
        if (in_reach && x + forward(delta - k) >= n) {
          return {box.a_end - x, box.b_end - (x - k)};
        }
      }
    }
    return furthest(box, most, n, m);
  }

  // The search was cut short: go on from the point that got furthest from the first corner.
  std::pair<std::int64_t, std::int64_t> furthest(const MatchedBox& box, std::int64_t d,
                                                 std::int64_t n, std::int64_t m) {
    std::int64_t best_x = 0, best_y = 0;
    const std::int64_t low = -(d - 2 * std::max<std::int64_t>(0, d - m));
    const std::int64_t high = d - 2 * std::max<std::int64_t>(0, d - n);
    for (std::int64_t k = low; k <= high; k += 2) {
      const std::int64_t x = forward(k), y = x - k;
      if (x > n || y < 0 || y > m || x + y <= best_x + best_y) continue;
      best_x = x;
      best_y = y;
    }
    return {box.a_begin + best_x, box.b_begin + best_y};
  }

  const std::vector<std::uint32_t>& a_;
  const std::vector<std::uint32_t>& b_;
  std::int64_t middle_;
  std::vector<std::int64_t> forward_, backward_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> match_sequences(
    const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return SequenceMatcher(a, b).run();
}

}  // namespace flopcast
