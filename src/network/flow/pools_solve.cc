// Pools from one canonical solution to the next, link by link.
#include <algorithm>
#include <functional>

#include "network/flow/pools.h"

namespace flopcast::network::flow {
namespace {

/// Of as many looks at a link as there are links, after which solving everything is no slower.
constexpr std::size_t kMostRounds = 16;

}  // namespace

void Pools::touch(std::uint32_t link) {
  Room& room = rooms_[link];
  if (room.touched) return;
  room.touched = true;
  pools_[link].before = room.level;
  touched_.push_back(link);
}

void Pools::wait(std::uint32_t link) {
  Room& room = rooms_[link];
  if (room.waiting) return;
  room.waiting = true;
  touch(link);
  queue_.push_back({room.weight != 0 ? room.level : std::max(room.bound, room.level), link});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

bool Pools::solve() {
  for (std::size_t looks = kMostRounds * rooms_.size(); !queue_.empty(); --looks) {
    if (looks == 0) return false;
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const std::uint32_t link = queue_.back().link;
    queue_.pop_back();
    rooms_[link].waiting = false;
    examine(link);
  }
  return true;
}

/// Where no flow of another pool comes near the level, it is what they leave over.
void Pools::examine(std::uint32_t link) {
  Room& room = rooms_[link];
  const auto weight = static_cast<Level>(rooms_[link].all);
  Level level = kUnbounded;
  if (room.weight == 0) {
    if (room.avail >= weight) return change_level(link, kUnbounded);
  } else {
    level = static_cast<Level>(std::max<Work>(room.avail, 0)) / static_cast<Level>(room.weight);
    if (level - room.bound >= weight) return change_level(link, level);
  }
  list_foreign(link);
  if (room.weight != 0 && level - room.bound >= weight) return change_level(link, level);
  examine_foreign(link);
}

void Pools::list_foreign(std::uint32_t link) {
  foreign_.clear();
  Level highest = kInactive;
  for (const Member& member : links_[link].active_members()) {
    const std::uint32_t pool = seats_[member.flow].pool;
    if (pool == link) continue;
    const Level level = rooms_[pool].level;
    foreign_.push_back({level, member.weight, member.flow});
    highest = std::max(highest, level);
  }
  rooms_[link].bound = highest;
}

/// The level by its definition (network/rates/link_level.h), flows of the pool above all others.
void Pools::examine_foreign(std::uint32_t link) {
  std::sort(foreign_.begin(), foreign_.end(),
            [](const Foreign& a, const Foreign& b) { return a.level < b.level; });
  Work avail = links_[link].capacity;
  auto weight = static_cast<Level>(rooms_[link].all);
  const auto share = [&] {
    return weight == 0 ? kUnbounded : static_cast<Level>(std::max<Work>(avail, 0)) / weight;
  };
  Level found = share();
  std::size_t below = 0;
  while (below < foreign_.size() && foreign_[below].level < found) {
    const Level level = foreign_[below].level;
    for (; below < foreign_.size() && foreign_[below].level == level; ++below) {
      avail -= static_cast<Work>(level) * foreign_[below].weight;
      weight -= foreign_[below].weight;
    }
    found = share();
  }
  while (below < foreign_.size() && foreign_[below].level == found) ++below;
  rooms_[link].bound = below == 0 ? kInactive : foreign_[below - 1].level;
  change_level(link, found);
  for (std::size_t i = below; i < foreign_.size(); ++i) take_over(foreign_[i].flow, link);
}

/// Of a link, and with it of its pool.
void Pools::change_level(std::uint32_t link, Level level) {
  const Level more = level - rooms_[link].level;
  rooms_[link].level = level;
  if (more == 0 || rooms_[link].weight == 0) return;
  if (pools_[link].left) sum_up(pools_[link]);
  for (const Crossing& crossing : pools_[link].crossings) {
    take_room(crossing.link, static_cast<Work>(more) * crossing.weight, level);
  }
}

void Pools::take_room(std::uint32_t link, Work more, Level level) {
  Room& room = rooms_[link];
  room.avail -= more;
  room.bound = std::max(room.bound, level);
  if (!room.waiting) wait(link);
}

void Pools::note_move(std::uint32_t flow) {
  if (seats_[flow].from != kNone) return;
  seats_[flow].from = seats_[flow].pool;
  touch(seats_[flow].pool);
  moved_.push_back(flow);
}

void Pools::take_over(std::uint32_t flow, std::uint32_t link) {
  const std::uint32_t from = seats_[flow].pool;
  const Level before = rooms_[from].level, level = rooms_[link].level;
  note_move(flow);
  leave(flow);
  join(flow, link);
  for (const Hop& hop : path(flow)) {
    Room& room = rooms_[hop.link];
    if (hop.link == link) {
      room.weight += hop.weight;
      room.avail += static_cast<Work>(before) * hop.weight;
    } else if (hop.link == from) {
      wait(from);
      room.weight -= hop.weight;
      take_room(from, static_cast<Work>(level) * hop.weight, level);
    } else {
      take_room(hop.link, static_cast<Work>(level - before) * hop.weight, level);
    }
  }
}

}  // namespace flopcast::network::flow
