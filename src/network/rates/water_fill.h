// Canonical water-filling of one set of flows over one set of links, both numbered from 0.
//
//   repeat until every flow is frozen
//     s = the smallest share of a link, B = all links with that share
//     freeze at level s every flow not frozen yet that crosses a link of B
//
// with share = floor(capacity left / sum of the weights of the flows not frozen yet). Taking all of
// B at once makes the result a function of the sets: one link after the other would hand the
// remainders of the divisions to whoever comes last. Shares only grow, so levels are strictly
// increasing. Derivation: docs/theory/flows.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/rates/numbers.h"
#include "network/rates/water_fill_shares.h"

namespace flopcast::network::flow {

class WaterFill {
 public:
  struct Use {
    std::uint32_t link;
    std::uint32_t weight;
  };

  void clear();
  /// @param avail capacity that the flows of this problem share.
  std::uint32_t add_link(std::int64_t avail);
  /// Its links follow by add_use(), at least one with a weight above 0.
  std::uint32_t add_flow(std::uint32_t fraction);
  void add_use(std::uint32_t link, std::uint32_t weight) {
    uses_.push_back({link, weight});
    links_[link].whole_weight += static_cast<std::uint64_t>(weight) * flows_.back().fraction;
  }
  /// Capacity handed back by a flow that joins the problem.
  void add_avail(std::uint32_t link, std::int64_t more) { links_[link].whole_avail += more; }

  /// May be called again after more flows and links were added.
  void solve();

  std::size_t flows() const { return flows_.size(); }
  std::size_t links() const { return links_.size(); }
  Level level(std::uint32_t flow) const { return flows_[flow].level; }
  std::uint32_t fraction(std::uint32_t flow) const { return flows_[flow].fraction; }
  /// Level at which the link held its flows back; kUnbounded: it never did.
  Level frozen_at(std::uint32_t link) const { return links_[link].frozen_at; }
  std::span<const Use> uses(std::uint32_t flow) const {
    const std::size_t last = flow + 1 < flows_.size() ? flows_[flow + 1].first_use : uses_.size();
    return {uses_.data() + flows_[flow].first_use, last - flows_[flow].first_use};
  }
  std::size_t bytes() const;

 private:
  struct Link {
    std::int64_t whole_avail, avail;
    std::uint64_t whole_weight, weight;
    Level share, frozen_at;
    bool stale;  // share is older than avail and weight, hence a lower bound
  };
  struct Flow {
    Level level;
    std::uint32_t first_use, fraction;
  };

  Level refresh(Link& link) const;
  void freeze(std::uint32_t flow, Level level);
  std::size_t scan_levels();
  void index_by_link();
  void block_levels(std::size_t left);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> open_flows_, open_links_, batch_;
  std::vector<std::uint32_t> first_crossing_, crossings_;  // flows by link
  std::vector<std::uint32_t> stale_;                       // links
  Shares shares_;
};

}  // namespace flopcast::network::flow
