#include "network/flow/water_fill_dense.h"

namespace flopcast::network::flow {
void DenseFill::open(const Links& links, std::span<const Flow> flows,
                     std::span<const std::uint32_t> active) {
  rooms_.resize(links.size());
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    rooms_[i] = {links[i].capacity, 0, kUnbounded, false};
  }
  levels_.resize(flows.size());
  for (const std::uint32_t flow : active) {
    levels_[flow] = kOpen;
    for (const Hop& hop : links.path(flows[flow].path, flows[flow].path_size)) {
      rooms_[hop.link].weight += std::uint64_t{hop.weight} * flows[flow].fraction;
    }
  }
  shares_.reset(rooms_.size());
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    if (rooms_[i].weight != 0) shares_.set(i, share(rooms_[i].avail, rooms_[i].weight));
  }
}

void DenseFill::freeze(const Links& links, const Flow& flow, Level level) {
  const std::int64_t rate = rate_at(level, flow.fraction);
  for (const Hop& hop : links.path(flow.path, flow.path_size)) {
    Room& room = rooms_[hop.link];
    room.avail -= rate * hop.weight;
    room.weight -= std::uint64_t{hop.weight} * flow.fraction;
    if (room.stale) continue;
    room.stale = true;
    stale_.push_back(hop.link);
  }
}

void DenseFill::solve(const Links& links, std::span<const Flow> flows,
                      std::span<const std::uint32_t> active, bool fractions) {
  open(links, flows, active);
  changed_.clear();
  for (std::size_t left = active.size(); left != 0;) {
    const Level lowest = shares_.lowest();
    batch_.clear();
    shares_.append_links_at(lowest, batch_);
    for (const std::uint32_t link : batch_) {
      rooms_[link].frozen_at = lowest;
      for (const Member& member : links[link].active_members()) {
        if (levels_[member.flow] != kOpen) continue;
        const Flow& flow = flows[member.flow];
        levels_[member.flow] = lowest;
        freeze(links, flow, lowest);
        if (flow.level != lowest || fractions) changed_.push_back(member.flow);
        --left;
      }
    }
    for (const std::uint32_t link : stale_) {
      Room& room = rooms_[link];
      room.stale = false;
      shares_.set(link, share(room.avail, room.weight));
    }
    stale_.clear();
  }
}

}  // namespace flopcast::network::flow
