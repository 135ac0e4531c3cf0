// Floor 2, private to the schedules: fills in a Schedule round by round.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "network/collective/schedule.h"

namespace flopcast::network {

class ScheduleBuilder {
 public:
  ScheduleBuilder(unsigned ranks, unsigned parts, Detail detail) : detail_(detail) {
    schedule_.ranks = ranks;
    schedule_.parts = parts;
  }

  Schedule::Round& round(bool reduces) {
    Schedule::Round& added = schedule_.rounds.emplace_back();
    added.reduces = reduces;
    added.messages.reserve(schedule_.ranks);  // nearly all rounds: one each
    return added;
  }
  /// A round of `repeat` repetitions that turn the digit (place, radix).
  void turning_round(bool reduces, std::uint32_t repeat, std::uint32_t place, std::uint32_t radix) {
    Schedule::Round& added = round(reduces);
    added.repeat = repeat;
    added.place = place;
    added.radix = radix;
  }

  /// A message of `count` parts in the last round; `id(i)` names the i-th.
  template <typename Id>
  void send(std::uint32_t src, std::uint32_t dst, std::uint32_t count, Id&& id,
            std::int32_t turn = -1) {
    const auto first = static_cast<std::uint32_t>(schedule_.ids.size());
    schedule_.rounds.back().messages.push_back({src, dst, first, count, turn});
    if (detail_ == Detail::kTraffic) return;
    for (std::uint32_t i = 0; i < count; ++i) schedule_.ids.push_back(id(i));
  }

  /// Removes rounds in which nobody has anything to say.
  Schedule take() && {
    std::erase_if(schedule_.rounds,
                  [](const Schedule::Round& r) { return r.messages.empty() || r.repeat == 0; });
    return std::move(schedule_);
  }

 private:
  Schedule schedule_;
  Detail detail_;
};

}  // namespace flopcast::network
