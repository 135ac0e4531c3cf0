// Pools from one event to the next: who is in them, and when their flows end.
#include "network/flow/pools.h"

#include <algorithm>

namespace flopcast::network::flow {
namespace {

constexpr std::size_t kFewCrossings = 16;

}  // namespace

void Pools::grow() {
  entry_of_.resize(links_.size(), kNone);
  rooms_.resize(links_.size());
  pools_.resize(links_.size());
  seats_.resize(flows_.size());
}

std::uint32_t Pools::holding_link(std::uint32_t flow, const DenseFill& fill) const {
  const auto hops = path(flow);
  const auto at = std::find_if(hops.begin(), hops.end(), [&](const Hop& hop) {
    return fill.frozen_at(hop.link) == fill.level(flow);
  });
  return at->link;
}

/// From the levels and pools.
void Pools::measure_rooms(std::span<const std::uint32_t> active) {
  for (std::uint32_t link = 0; link < rooms_.size(); ++link) {
    rooms_[link].avail = links_[link].capacity;
    rooms_[link].weight = rooms_[link].all = 0;
    rooms_[link].bound = kInactive;
  }
  for (const std::uint32_t flow : active) {
    const Level held = level(flow);
    for (const Hop& hop : path(flow)) {
      Room& room = rooms_[hop.link];
      room.all += hop.weight;
      if (hop.link == seats_[flow].pool) {
        room.weight += hop.weight;
      } else {
        room.avail -= static_cast<Work>(held) * hop.weight;
        room.bound = std::max(room.bound, held);
      }
    }
  }
}

void Pools::open(std::span<const std::uint32_t> active, const DenseFill& fill) {
  grow();
  open_ = true;
  for (std::uint32_t link = 0; link < pools_.size(); ++link) {
    pools_[link].flows.clear();
    pools_[link].crossings.clear();
    pools_[link].summed_up = 0;
    pools_[link].left = false;
    pools_[link].drift = 0;
    pools_[link].first_known = false;
    rooms_[link].level = fill.frozen_at(link);
  }
  for (const std::uint32_t flow : active) {
    seats_[flow].from = kNone;
    join(flow, holding_link(flow, fill));
  }
  measure_rooms(active);
  for (std::uint32_t link = 0; link < pools_.size(); ++link) {
    find_first(pools_[link]);
    schedule(link);
  }
}

void Pools::adopt(std::span<const std::uint32_t> active, const DenseFill& fill) {
  for (const Entry& entry : queue_) rooms_[entry.link].waiting = false;
  queue_.clear();
  for (std::uint32_t link = 0; link < rooms_.size(); ++link) {
    touch(link);
    rooms_[link].level = fill.frozen_at(link);
  }
  for (const std::uint32_t flow : active) {
    if (level(flow) == fill.level(flow)) continue;
    note_move(flow);
    leave(flow);
    join(flow, holding_link(flow, fill));
  }
  measure_rooms(active);
}

void Pools::close(std::span<const std::uint32_t> active) {
  for (const std::uint32_t flow : active) settle(flow);
  for (std::uint32_t link = 0; link < pools_.size(); ++link) next_.set(link, kNever);
  open_ = false;
}

void Pools::settle(std::uint32_t id) {
  Flow& flow = flows_[id];
  flow.offset = offset(id);
  flow.level = flow.rate = rate(id);
}

std::int64_t Pools::used(std::uint32_t link) const {
  const Room& room = rooms_[link];
  const Work own = room.weight == 0 ? 0 : static_cast<Work>(room.weight) * room.level;
  return static_cast<std::int64_t>(links_[link].capacity - room.avail + own);
}

void Pools::seat(std::uint32_t flow, std::uint32_t pool) {
  std::vector<std::uint32_t>& flows = pools_[pool].flows;
  seats_[flow].pool = pool;
  seats_[flow].slot = static_cast<std::uint32_t>(flows.size());
  flows.push_back(flow);
}

void Pools::unseat(std::uint32_t flow) {
  const Seat seat = seats_[flow];
  std::vector<std::uint32_t>& flows = pools_[seat.pool].flows;
  flows[seat.slot] = flows.back();
  seats_[flows[seat.slot]].slot = seat.slot;
  flows.pop_back();
  seats_[flow].slot = kNone;
  if (pools_[seat.pool].first == flow) pools_[seat.pool].first_known = false;
}

void Pools::join(std::uint32_t flow, std::uint32_t pool) {
  seat(flow, pool);
  cross(flow, pool, 1);
}

void Pools::leave(std::uint32_t flow) {
  cross(flow, seats_[flow].pool, -1);
  unseat(flow);
}

void Pools::cross(std::uint32_t flow, std::uint32_t number, int times) {
  Pool& pool = pools_[number];
  for (const Hop& hop : path(flow)) {
    if (hop.link == number) continue;
    pool.crossings.push_back({hop.link, times * static_cast<std::int64_t>(hop.weight)});
  }
  pool.left = pool.left || times < 0;
  if (pool.crossings.size() > 2 * pool.summed_up + kFewCrossings) sum_up(pool);
}

void Pools::sum_up(Pool& pool) {
  std::size_t kept = 0;
  for (const Crossing crossing : pool.crossings) {
    std::uint32_t& entry = entry_of_[crossing.link];
    if (entry == kNone) {
      entry = static_cast<std::uint32_t>(kept);
      pool.crossings[kept++] = crossing;
    } else {
      pool.crossings[entry].weight += crossing.weight;
    }
  }
  pool.crossings.resize(kept);
  for (const Crossing& crossing : pool.crossings) entry_of_[crossing.link] = kNone;
  std::erase_if(pool.crossings, [](const Crossing& crossing) { return crossing.weight == 0; });
  pool.summed_up = pool.crossings.size();
  pool.left = false;
}

void Pools::stop(std::uint32_t flow) {
  const std::uint32_t pool = seats_[flow].pool;
  const Level level = rooms_[pool].level;
  for (const Hop& hop : path(flow)) {
    wait(hop.link);
    rooms_[hop.link].all -= hop.weight;
    if (hop.link == pool) {
      rooms_[pool].weight -= hop.weight;
    } else {
      rooms_[hop.link].avail += static_cast<Work>(level) * hop.weight;
    }
  }
  leave(flow);
  find_first(pools_[pool]);
  schedule(pool);
}

/// Into the pool of the link that has least to give.
void Pools::start(std::uint32_t flow) {
  grow();
  Level least = kUnbounded;
  std::uint32_t pool = kNone;
  for (const Hop& hop : path(flow)) {
    Room& room = rooms_[hop.link];
    if (links_[hop.link].active == 1) {  // it may be a new one
      room.avail = links_[hop.link].capacity;
      room.bound = kInactive;
      room.all = 0;
    }
    room.all += hop.weight;
    wait(hop.link);
    const auto avail = static_cast<Level>(std::max<Work>(room.avail, 0));
    const Level share = avail / static_cast<Level>(room.weight + hop.weight);
    if (pool == kNone || share < least) {
      least = share;
      pool = hop.link;
    }
  }
  Room& room = rooms_[pool];
  if (room.weight == 0) room.level = 0;
  join(flow, pool);
  seats_[flow].from = kStarted;
  for (const Hop& hop : path(flow)) {
    if (hop.link == pool) {
      room.weight += hop.weight;
    } else {
      take_room(hop.link, static_cast<Work>(room.level) * hop.weight, room.level);
    }
  }
  started_.push_back(flow);
}

void Pools::finish(Ps time, Ring<PoolChange>& log) {
  rates_changed_ = moved_.size() + started_.size();
  settle_moved(time, log);
  settle_levels(time, log);
  // Offsets count from the drift of the pool a flow is in now.
  for (const auto* flows : {&moved_, &started_}) {
    for (const std::uint32_t flow : *flows) {
      flows_[flow].offset -= pools_[seats_[flow].pool].drift;
      offer_first(flow);
    }
  }
  for (const std::uint32_t link : touched_) {
    find_first(pools_[link]);
    schedule(link);
    rooms_[link].touched = false;
  }
  touched_.clear();
  moved_.clear();
  started_.clear();
}

void Pools::settle_moved(Ps time, Ring<PoolChange>& log) {
  for (const std::uint32_t id : moved_) {
    Seat& seat = seats_[id];
    const Level more = rooms_[seat.pool].level - pools_[seat.from].before;
    flows_[id].offset += pools_[seat.from].drift + static_cast<Work>(more) * time;
    if (seat.from != seat.pool) log.push() = {time, 0, id, seat.from};
    seat.from = kNone;
  }
  for (const std::uint32_t id : started_) {
    Flow& flow = flows_[id];
    flow.level = flow.rate = level(id);
    flow.offset += static_cast<Work>(flow.rate) * time;
    seats_[id].from = kNone;
  }
}

void Pools::settle_levels(Ps time, Ring<PoolChange>& log) {
  for (const std::uint32_t link : touched_) {
    Pool& pool = pools_[link];
    const Level level = rooms_[link].level;
    if (level == pool.before) continue;
    log.push() = {time, pool.before, link, kNone};
    rates_changed_ += pool.flows.size();
    if (level == kUnbounded || pool.before == kUnbounded) {
      pool.drift = 0;  // no flow was in it all the time
    } else {
      pool.drift += static_cast<Work>(level - pool.before) * time;
    }
  }
}

void Pools::find_first(Pool& pool) {
  if (pool.first_known) return;
  pool.first_known = true;
  pool.first = kNone;
  Work least = 0;
  for (const std::uint32_t flow : pool.flows) {
    const Flow& candidate = flows_[flow];
    if (candidate.background || (pool.first != kNone && candidate.offset >= least)) continue;
    pool.first = flow;
    least = candidate.offset;
  }
}

/// The flow is new in its pool.
void Pools::offer_first(std::uint32_t flow) {
  Pool& pool = pools_[seats_[flow].pool];
  if (!pool.first_known || flows_[flow].background) return;
  if (pool.first == kNone || flows_[flow].offset < flows_[pool.first].offset) pool.first = flow;
}

void Pools::schedule(std::uint32_t link) {
  const Pool& pool = pools_[link];
  if (pool.first == kNone) return next_.set(link, kNever);
  next_.set(link, end_of(flows_[pool.first].offset + pool.drift, rooms_[link].level, 0));
}

std::size_t Pools::bytes() const {
  std::size_t total = rooms_.capacity() * sizeof(Room) + pools_.capacity() * sizeof(Pool) +
                      seats_.capacity() * sizeof(Seat) + queue_.capacity() * sizeof(Entry) +
                      foreign_.capacity() * sizeof(Foreign) + next_.bytes();
  for (const Pool& pool : pools_) {
    total += pool.flows.capacity() * sizeof(std::uint32_t) +
             pool.crossings.capacity() * sizeof(Crossing);
  }
  return total +
         (touched_.capacity() + moved_.capacity() + started_.capacity() + entry_of_.capacity()) *
             sizeof(std::uint32_t);
}

}  // namespace flopcast::network::flow
