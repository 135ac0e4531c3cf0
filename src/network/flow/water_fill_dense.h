// Water-filling (water_fill.h) of all active flows, where they are: nothing is copied or indexed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/flow/links.h"
#include "network/flow/record.h"
#include "network/rates/water_fill_shares.h"

namespace flopcast::network::flow {

class DenseFill {
 public:
  /// @param fractions whether a flow's may be other than whole.
  void solve(const Links& links, std::span<const Flow> flows, std::span<const std::uint32_t> active,
             bool fractions);

  Level level(std::uint32_t flow) const { return levels_[flow]; }
  /// Flows whose level or fraction may not be what it was.
  std::span<const std::uint32_t> changed() const { return changed_; }
  Level frozen_at(std::uint32_t link) const { return rooms_[link].frozen_at; }
  std::size_t bytes() const {
    return shares_.bytes() + rooms_.capacity() * sizeof(Room) + levels_.capacity() * sizeof(Level) +
           (stale_.capacity() + batch_.capacity() + changed_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  struct Room {  // on a link, for the flows not frozen yet
    std::int64_t avail;
    std::uint64_t weight;
    Level frozen_at;
    bool stale;
  };

  void open(const Links& links, std::span<const Flow> flows, std::span<const std::uint32_t> active);
  void freeze(const Links& links, const Flow& flow, Level level);

  std::vector<Room> rooms_;
  std::vector<Level> levels_;
  Shares shares_;
  std::vector<std::uint32_t> stale_, batch_, changed_;
};

}  // namespace flopcast::network::flow
