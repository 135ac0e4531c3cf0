#include "network/rates/water_fill.h"

#include <algorithm>

namespace flopcast::network::flow {
namespace {

// Going over all flows and links at every level is fastest while they are few, or while a level
// freezes many of them.
constexpr std::size_t kFewFlows = 24;
constexpr std::size_t kMany = 4;  // one in so many

}  // namespace

void WaterFill::clear() {
  links_.clear();
  flows_.clear();
  uses_.clear();
}

std::uint32_t WaterFill::add_link(std::int64_t avail) {
  links_.push_back({avail, 0, 0, 0, 0, kUnbounded, false});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::uint32_t WaterFill::add_flow(std::uint32_t fraction) {
  flows_.push_back({kOpen, static_cast<std::uint32_t>(uses_.size()), fraction});
  return static_cast<std::uint32_t>(flows_.size() - 1);
}

void WaterFill::solve() {
  open_links_.clear();
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    link.avail = link.whole_avail;
    link.weight = link.whole_weight;
    link.frozen_at = kUnbounded;
    link.stale = false;
    link.share = share(link.avail, link.weight);
    if (link.weight != 0) open_links_.push_back(i);
  }
  stale_.clear();
  open_flows_.clear();
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    flows_[i].level = kOpen;
    open_flows_.push_back(i);
  }
  if (const std::size_t left = scan_levels(); left != 0) block_levels(left);
}

Level WaterFill::refresh(Link& link) const {
  link.stale = false;
  return link.share = share(link.avail, link.weight);
}

void WaterFill::freeze(std::uint32_t flow, Level level) {
  Flow& frozen = flows_[flow];
  frozen.level = level;
  const std::int64_t rate = rate_at(level, frozen.fraction);
  for (const Use& use : uses(flow)) {
    Link& link = links_[use.link];
    link.avail -= rate * use.weight;
    link.weight -= static_cast<std::uint64_t>(use.weight) * frozen.fraction;
    if (!link.stale) stale_.push_back(use.link);
    link.stale = true;
  }
}

/// @return how many flows are still open.
std::size_t WaterFill::scan_levels() {
  for (std::size_t before = kMany * open_flows_.size(); !open_flows_.empty();) {
    const std::size_t frozen = before - open_flows_.size();
    if (open_flows_.size() > kFewFlows && kMany * frozen < before) break;
    before = open_flows_.size();
    Level lowest = kUnbounded;
    std::size_t kept = 0;
    for (const std::uint32_t i : open_links_) {
      Link& link = links_[i];
      if (link.weight == 0) continue;
      open_links_[kept++] = i;
      lowest = std::min(lowest, link.stale ? refresh(link) : link.share);
    }
    open_links_.resize(kept);
    for (const std::uint32_t i : open_links_) {
      if (links_[i].share == lowest) links_[i].frozen_at = lowest;
    }
    std::size_t open = 0;
    for (const std::uint32_t flow : open_flows_) {
      const auto crossed = uses(flow);
      const bool held = std::any_of(crossed.begin(), crossed.end(), [&](const Use& use) {
        return links_[use.link].frozen_at == lowest;
      });
      if (held) {
        freeze(flow, lowest);
      } else {
        open_flows_[open++] = flow;
      }
    }
    open_flows_.resize(open);
  }
  return open_flows_.size();
}

void WaterFill::index_by_link() {
  first_crossing_.assign(links_.size() + 1, 0);
  for (const std::uint32_t flow : open_flows_) {
    for (const Use& use : uses(flow)) ++first_crossing_[use.link + 1];
  }
  for (std::size_t i = 1; i < first_crossing_.size(); ++i) {
    first_crossing_[i] += first_crossing_[i - 1];
  }
  crossings_.resize(first_crossing_.back());
  for (const std::uint32_t flow : open_flows_) {
    for (const Use& use : uses(flow)) crossings_[first_crossing_[use.link]++] = flow;
  }
  // Each entry now holds the end of its link's part, the start of the next one's.
  for (std::size_t i = links_.size(); i > 0; --i) first_crossing_[i] = first_crossing_[i - 1];
  first_crossing_[0] = 0;
}

void WaterFill::block_levels(std::size_t left) {
  index_by_link();
  shares_.reset(links_.size());
  for (const std::uint32_t i : open_links_) {
    shares_.set(i, links_[i].stale ? refresh(links_[i]) : links_[i].share);
  }
  while (left != 0) {
    const Level lowest = shares_.lowest();
    batch_.clear();
    shares_.append_links_at(lowest, batch_);
    for (const std::uint32_t i : batch_) links_[i].frozen_at = lowest;
    for (const std::uint32_t i : batch_) {
      for (std::uint32_t c = first_crossing_[i]; c < first_crossing_[i + 1]; ++c) {
        if (flows_[crossings_[c]].level != kOpen) continue;
        freeze(crossings_[c], lowest);
        --left;
      }
    }
    for (const std::uint32_t i : stale_) shares_.set(i, refresh(links_[i]));
    stale_.clear();
  }
}

std::size_t WaterFill::bytes() const {
  return links_.capacity() * sizeof(Link) + flows_.capacity() * sizeof(Flow) +
         uses_.capacity() * sizeof(Use) + shares_.bytes() +
         (stale_.capacity() + open_flows_.capacity() + open_links_.capacity() + batch_.capacity() +
          first_crossing_.capacity() + crossings_.capacity()) *
             sizeof(std::uint32_t);
}

}  // namespace flopcast::network::flow
