// Level of one link from the levels of its flows: the lowest level of a flow on it at which the
// share of those not below it is no higher.
//
//   share(v) = floor((capacity - rates of flows below v) / weights of flows at or above v)
//   level    = share(v) of the lowest v with share(v) <= v; kUnbounded if there is none
#pragma once

#include <cstdint>
#include <vector>

#include "network/rates/numbers.h"

namespace flopcast::network::flow {

struct LinkLevel {
  Level level = kUnbounded;
  Level top = kInactive;  ///< highest level of a flow

  /// Enough in nearly all cases: only the highest level can be the lowest such v, as the flows at
  /// it hold too much for the levels below.
  class Sum {
   public:
    void add(Level level, std::uint32_t weight, std::uint32_t fraction) {
      used_ += rate_at(level, fraction) * weight;
      weight_ += weight;
      whole_ = whole_ && fraction == kWhole;
      if (level > top_) {
        second_ = top_;
        top_ = level;
        top_weight_ = weight;
      } else if (level == top_) {
        top_weight_ += weight;
      } else if (level > second_) {
        second_ = level;
      }
    }
    /// Whether level() is right. With slack s and the highest level v a level u < v would need
    /// s + (sum of weight x (rate - u) of flows above u) < weights of flows at or above u.
    bool clear_cut(std::int64_t capacity) const {
      return whole_ && used_ <= capacity &&
             (second_ == kInactive || top_ - second_ >= static_cast<Level>(weight_) ||
              capacity - used_ >= static_cast<Level>(weight_));
    }
    LinkLevel level(std::int64_t capacity) const {
      const bool held = top_ != kInactive && capacity - used_ < static_cast<Level>(top_weight_);
      return {held ? top_ : kUnbounded, top_};
    }

   private:
    Level top_ = kInactive, second_ = kInactive;
    std::int64_t used_ = 0;
    std::uint64_t weight_ = 0, top_weight_ = 0;
    bool whole_ = true;
  };

  /// Always right.
  class Sorted {
   public:
    void add(Level level, std::uint32_t weight, std::uint32_t fraction) {
      if (weight != 0) flows_.push_back({level, weight, fraction});
    }
    LinkLevel level(std::int64_t capacity);

   private:
    struct Flow {
      Level level;
      std::uint32_t weight, fraction;
    };
    std::vector<Flow> flows_;
  };
};

}  // namespace flopcast::network::flow
