// Re-solves what a change touches, to the same rates as solving everything.
//
// A region of flows is water-filled while all others keep their rates, and grows until no link
// disagrees. A link agrees when its level, computed from all its flows, is where its flows of the
// region were frozen, no other flow on it is above that level, and no other flow had its bottleneck
// there at a level that is no longer the link's. When every link agrees, the levels are the
// canonical ones, of which there is one set only (docs/theory/flows.md).
//
// `View` is where flows and links come from: the state of now, or a repaired past.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "network/rates/link_level.h"
#include "network/rates/numbers.h"
#include "network/rates/water_fill.h"

namespace flopcast::network::flow {

template <typename View>
class Region {
 public:
  explicit Region(View& view) : view_(view) {}

  /// To be re-solved in any case: flows that start, or whose fraction changed.
  void add(std::uint32_t flow);
  /// Its flows are no longer the same.
  void touch(std::uint32_t link);
  bool empty() const { return links_.empty(); }

  /// Afterwards flow(i) has level(i), i < flows(); link(j) has link_level(j), j < links().
  /// All other flows and links are as they were.
  /// @return false: not solved, the view found the region too large.
  bool solve();
  void clear();

  std::size_t flows() const { return flows_.size(); }
  std::uint32_t flow(std::size_t i) const { return flows_[i]; }
  Level level(std::size_t i) const { return fill_.level(static_cast<std::uint32_t>(i)); }
  std::size_t links() const { return links_.size(); }
  std::uint32_t link(std::size_t i) const { return links_[i].link; }
  Level link_level(std::size_t i) const { return links_[i].level; }
  /// Level of any link, from all its flows.
  Level measured_level(std::uint32_t link) const { return measure(link).level; }
  std::size_t bytes() const {
    return fill_.bytes() + links_.capacity() * sizeof(RegionLink) +
           flows_.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct RegionLink {
    std::uint32_t link;
    std::uint32_t flows = 0;  // of the region
    bool changed = false;
    Level level = kUnbounded;
  };

  std::uint32_t enter_link(std::uint32_t link);
  void open();
  void seed();
  void mark_changed();
  bool grow();
  void examine(std::uint32_t index);
  LinkLevel measure(std::uint32_t link) const;
  void add_disagreeing(std::uint32_t index, const LinkLevel& now);
  Level level_now(std::uint32_t flow) const {
    const std::uint32_t slot = view_.flow_slot(flow);
    return slot < solved_ ? fill_.level(slot) : view_.level(flow);
  }

  View& view_;
  WaterFill fill_;
  std::vector<RegionLink> links_;
  std::vector<std::uint32_t> flows_;
  std::size_t solved_ = 0;  // flows when the fill was last solved; later ones joined since
  bool solving_ = false;
};

template <typename View>
std::uint32_t Region<View>::enter_link(std::uint32_t link) {
  std::uint32_t& slot = view_.link_slot(link);
  if (slot == kNone) {
    // Before solve() the flows on the link may still change: their rates are read there.
    slot = fill_.add_link(solving_ ? view_.slack(link) : 0);
    links_.push_back({link, 0, false, view_.link_level(link)});
  }
  return slot;
}

template <typename View>
void Region<View>::touch(std::uint32_t link) {
  links_[enter_link(link)].changed = true;
}

template <typename View>
void Region<View>::add(std::uint32_t flow) {
  std::uint32_t& slot = view_.flow_slot(flow);
  if (slot != kNone) return;
  slot = fill_.add_flow(view_.fraction(flow));
  flows_.push_back(flow);
  const std::int64_t rate = view_.rate(flow);
  for (const auto& hop : view_.path(flow)) {
    const std::uint32_t index = enter_link(hop.link);
    ++links_[index].flows;
    fill_.add_avail(index, rate * hop.weight);
    fill_.add_use(index, hop.weight);
  }
}

template <typename View>
void Region<View>::open() {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    fill_.add_avail(i, view_.slack(links_[i].link));
  }
  solving_ = true;
}

template <typename View>
void Region<View>::seed() {
  const std::size_t touched = links_.size();
  for (std::size_t i = 0; i < touched; ++i) {
    const std::uint32_t link = links_[i].link;
    if (!links_[i].changed) continue;
    view_.for_each_member(link, [&](std::uint32_t flow, std::uint32_t) {
      if (view_.level(flow) == view_.level_before(link, flow)) add(flow);
    });
  }
}

template <typename View>
bool Region<View>::solve() {
  open();
  if (View::kLikelyChanged) seed();
  bool grown = !flows_.empty() || grow();
  while (grown) {
    if (view_.too_large(flows_.size())) return false;
    fill_.solve();
    solved_ = flows_.size();
    grown = grow();
  }
  return true;
}

template <typename View>
void Region<View>::mark_changed() {
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    const Level level = fill_.level(i);
    if (level == view_.level(flows_[i]) &&
        rate_at(level, fill_.fraction(i)) == view_.rate(flows_[i])) {
      continue;
    }
    for (const WaterFill::Use& use : fill_.uses(i)) links_[use.link].changed = true;
  }
}

template <typename View>
bool Region<View>::grow() {
  mark_changed();
  const std::size_t before = flows_.size();
  const auto known = static_cast<std::uint32_t>(links_.size());
  for (std::uint32_t i = 0; i < known; ++i) examine(i);
  return flows_.size() > before;
}

template <typename View>
void Region<View>::examine(std::uint32_t index) {
  RegionLink& link = links_[index];
  const Level before = view_.link_level(link.link);
  if (!link.changed && fill_.frozen_at(index) >= before) {
    link.level = before;
    return;
  }
  if (link.flows == view_.active(link.link)) {
    link.level = fill_.frozen_at(index);
    return;
  }
  const LinkLevel now = measure(link.link);
  links_[index].level = now.level;
  add_disagreeing(index, now);
}

template <typename View>
LinkLevel Region<View>::measure(std::uint32_t link) const {
  LinkLevel::Sum sum;
  view_.for_each_member(link, [&](std::uint32_t flow, std::uint32_t weight) {
    sum.add(level_now(flow), weight, view_.fraction(flow));
  });
  const std::int64_t capacity = view_.capacity(link);
  if (sum.clear_cut(capacity)) return sum.level(capacity);
  LinkLevel::Sorted sorted;
  view_.for_each_member(link, [&](std::uint32_t flow, std::uint32_t weight) {
    sorted.add(level_now(flow), weight, view_.fraction(flow));
  });
  return sorted.level(capacity);
}

template <typename View>
void Region<View>::add_disagreeing(std::uint32_t index, const LinkLevel& now) {
  const std::uint32_t link = links_[index].link;
  const Level limit = std::min(fill_.frozen_at(index), now.level);
  // Flows above the level of a link are frozen there together with those at it.
  const Level together = now.level < now.top ? now.level : kUnbounded;
  view_.for_each_member(link, [&](std::uint32_t flow, std::uint32_t) {
    if (view_.flow_slot(flow) != kNone) return;
    const Level level = view_.level(flow);
    const Level before = view_.level_before(link, flow);
    if (level > limit || level >= together || (level == before && before != now.level)) add(flow);
  });
}

template <typename View>
void Region<View>::clear() {
  for (const std::uint32_t flow : flows_) view_.flow_slot(flow) = kNone;
  for (const RegionLink& link : links_) view_.link_slot(link.link) = kNone;
  flows_.clear();
  links_.clear();
  fill_.clear();
  solved_ = 0;
  solving_ = false;
}

}  // namespace flopcast::network::flow
