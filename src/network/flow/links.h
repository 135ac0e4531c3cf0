// Links and the flows on them.
//
// The members of a link are its active flows, followed by those that left it at or after the
// horizon: repair needs to know who was there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "network/flow/free_runs.h"
#include "network/flow/members.h"
#include "network/rates/numbers.h"

namespace flopcast::network::flow {

/// One link of a flow's path.
struct Hop {
  std::uint32_t link;
  std::uint32_t weight;  ///< 0: membership only (links that stand for a fairness group)
  std::uint32_t slot;    ///< among the link's members
};

/// One cache line.
struct alignas(64) Link {
  std::int64_t capacity = 0;
  std::int64_t used = 0;         ///< sum of weight x rate of the active members
  Level level = kUnbounded;      ///< at which it holds flows back
  std::uint32_t active = 0;      ///< how many of the members are
  std::uint32_t region = kNone;  ///< its number in the region being solved
  Members members;

  std::span<const Member> active_members() const { return members.first(active); }
};

static_assert(sizeof(Link) == 64);

class Links {
 public:
  void reserve(std::size_t links) { links_.reserve(links); }
  std::uint32_t add(std::int64_t capacity);
  /// Gives back a link that no flow is on.
  void free(std::uint32_t link) { free_links_.push_back(link); }
  std::size_t size() const { return links_.size(); }
  Link& operator[](std::uint32_t link) { return links_[link]; }
  const Link& operator[](std::uint32_t link) const { return links_[link]; }

  /// Room for a path. @return its first hop.
  std::uint32_t take_path(std::uint32_t size) { return free_paths_.take(hops_, size); }
  void free_path(std::uint32_t first, std::uint32_t size) {
    free_paths_.give_back(hops_, first, size);
  }
  void set_hop(std::uint32_t hop, std::uint32_t link, std::uint32_t weight) {
    hops_[hop] = {link, weight, kNone};
  }
  std::span<const Hop> path(std::uint32_t first, std::uint32_t size) const {
    return std::span(hops_).subspan(first, size);
  }

  // All take a path. A macro-flow's thousands of links lie far apart: as few rounds as can be.
  /// It becomes active, with nothing sent yet.
  /// @return the level it has while nobody else is on its links; kInactive: somebody is.
  Level enter(std::uint32_t flow, std::uint32_t first, std::uint32_t size);
  Level level_alone(std::uint32_t first, std::uint32_t size) const;  ///< the same of an active one
  /// Nobody else is on them: they get the rate and, where they hold the flow back, the level.
  void carry_alone(std::uint32_t first, std::uint32_t size, Level level);
  void carry(std::uint32_t first, std::uint32_t size,
             std::int64_t more);  ///< more rate than before
  /// Active to left. @param rate of it until now. @param shared is told the links that others are on.
  template <typename Shared>
  void leave(std::uint32_t first, std::uint32_t size, std::int64_t rate, Shared shared) {
    for (std::uint32_t i = first; i < first + size; ++i) {
      prefetch(i, first + size);
      const Hop& hop = hops_[i];
      Link& link = links_[hop.link];
      --link.active;
      link.used -= rate * hop.weight;
      exchange(link, hop.slot, link.active);
      if (link.active == 0) {
        link.level = kUnbounded;
      } else {
        shared(hop.link);
      }
    }
  }
  void reenter(std::uint32_t first, std::uint32_t size);  ///< left to active
  void forget(std::uint32_t first, std::uint32_t size);   ///< member no longer

  void prefetch_hops(std::uint32_t first) const { __builtin_prefetch(hops_.data() + first, 1); }
  /// Of the first links.
  void prefetch_path(std::uint32_t first, std::uint32_t size) const {
    for (std::uint32_t i = first; i < first + std::min(size, kAhead); ++i) {
      __builtin_prefetch(&links_[hops_[i].link], 1);
    }
  }

  std::size_t bytes() const;

 private:
  static constexpr std::uint32_t kAhead = 16;  // hops

  void exchange(Link& link, std::uint32_t a, std::uint32_t b) {
    if (a == b) return;
    std::swap(link.members[a], link.members[b]);
    hops_[link.members[a].hop].slot = a;
    hops_[link.members[b].hop].slot = b;
  }
  void prefetch(std::uint32_t hop, std::uint32_t end) const {
    if (hop + kAhead < end) __builtin_prefetch(&links_[hops_[hop + kAhead].link], 1);
  }

  std::vector<Link> links_;
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> free_links_;
  FreeRuns<Hop, &Hop::slot> free_paths_;
};

}  // namespace flopcast::network::flow
