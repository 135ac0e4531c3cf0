#include "live/engine/session/chip_turns.h"

#include <algorithm>

#include "base/numeric/clock.h"

namespace flopcast::live {

Time ChipTurns::Chip::end() const {
  const Waiting& first = *waiting.begin();
  return sum_on_clock(std::max(first.start, free), first.duration);
}

void ChipTurns::compute(std::uint64_t task, std::uint64_t order, std::uint32_t chip, Time duration,
                        Time start) {
  chips_[chip].waiting.insert({start, order, task, duration});
  remember_next();
}

void ChipTurns::remember_next() {
  next_.reset();
  for (const auto& [number, chip] : chips_) {
    if (!chip.waiting.empty()) next_ = std::min(next_.value_or(Time::max()), chip.end());
  }
}

std::optional<Time> ChipTurns::next_end() {
  const std::optional<Time> end = rest_.next_end();
  return end && next_ ? std::min(*end, *next_) : end ? end : next_;
}

std::vector<std::pair<std::uint64_t, Time>> ChipTurns::advance(Time until) {
  std::vector<std::pair<std::uint64_t, Time>> ended;
  if (const std::optional<Time> end = rest_.next_end(); end && *end <= until)
    ended = rest_.advance(until);
  if (!next_ || *next_ > until) return ended;
  for (auto& [number, chip] : chips_) {
    while (!chip.waiting.empty() && chip.end() <= until) {
      chip.free = chip.end();
      ended.emplace_back(chip.waiting.begin()->task, chip.free);
      chip.waiting.erase(chip.waiting.begin());
    }
  }
  remember_next();
  std::sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  });
  return ended;
}

}  // namespace flopcast::live
