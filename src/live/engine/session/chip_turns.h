// Products that several streams of a chip are given at once: each takes the whole of it, one after the other, by when they could
// start. So no two together are faster than the chip is. Their ends are told as those of transfers are: a product that can start
// earlier may still come.
#pragma once

#include <compare>
#include <map>
#include <set>

#include "live/engine/session/work.h"

namespace flopcast::live {

/// The work of a session, with the turns of its chips.
class ChipTurns final : public Work {
 public:
  explicit ChipTurns(Work& rest) : rest_(rest) {}

  /// A product could start. Not before the last time advance() was told.
  /// @param order  of those that could start at one time: not that in which they were heard
  void compute(std::uint64_t task, std::uint64_t order, std::uint32_t chip, Time duration,
               Time start);

  Time kernel(const Record& record, std::string_view signature) override {
    return rest_.kernel(record, signature);
  }
  Time copy(const Record& record) override { return rest_.copy(record); }
  Time alone(const Transfer& what) override { return rest_.alone(what); }
  bool fills_chip(const Record& record, std::string_view signature) override {
    return rest_.fills_chip(record, signature);
  }
  double contention() const override { return rest_.contention(); }
  double straggling() const override { return rest_.straggling(); }
  void begin(std::uint64_t transfer, const Transfer& what, Time start) override {
    rest_.begin(transfer, what, start);
  }
  std::optional<Time> next_end() override;
  std::vector<std::pair<std::uint64_t, Time>> advance(Time until) override;

 private:
  struct Chip {
    struct Waiting {
      Time start;
      std::uint64_t order = 0, task = 0;
      Time duration;
      auto operator<=>(const Waiting&) const = default;
    };
    Time free;
    std::set<Waiting> waiting;
    Time end() const;  ///< of the first
  };
  void remember_next();

  Work& rest_;
  std::map<std::uint32_t, Chip> chips_;
  std::optional<Time> next_;
};

}  // namespace flopcast::live
