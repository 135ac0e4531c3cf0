// Prices for tests: what a record says, whatever else is under way.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "live/engine/session/work.h"

namespace flopcast::live {

/// Kernels take as many microseconds as they have blocks, copies as they have bytes, transfers as
/// they have bytes, whatever else is under way.
class PlainWork final : public Work {
 public:
  Time kernel(const Record& record, std::string_view) override {
    return Time::from_us(static_cast<std::int64_t>(record.word[0]));
  }
  Time copy(const Record& record) override {
    return Time::from_us(static_cast<std::int64_t>(record.word[0]));
  }
  bool fills_chip(const Record& record, std::string_view) override {
    return record.word[0] >= fills_from;
  }
  std::uint64_t fills_from = ~std::uint64_t{0};  ///< blocks
  double straggling() const override { return for_each_doubling; }
  double for_each_doubling = 0;  ///< of nodes, what kernels take longer

  Time alone(const Transfer& what) override { return Time::from_us(what.bytes); }
  void begin(std::uint64_t transfer, const Transfer& what, Time start) override {
    under_way_.insert({start + alone(what), transfer});
  }
  std::optional<Time> next_end() override {
    if (under_way_.empty()) return std::nullopt;
    return under_way_.begin()->first;
  }
  std::vector<std::pair<std::uint64_t, Time>> advance(Time until) override {
    std::vector<std::pair<std::uint64_t, Time>> ended;
    while (!under_way_.empty() && under_way_.begin()->first <= until) {
      ended.emplace_back(under_way_.begin()->second, under_way_.begin()->first);
      under_way_.erase(under_way_.begin());
    }
    return ended;
  }

 private:
  std::set<std::pair<Time, std::uint64_t>> under_way_;
};

}  // namespace flopcast::live
