#include "network/flow/links.h"

#include <algorithm>

namespace flopcast::network::flow {
namespace {

/// The lower of `least` and what the link gives a flow that is alone there: divisions would be most of
/// what a macro-flow's links cost.
Level lower_alone(const Link& link, const Hop& hop, Level least) {
  if (link.active != 1 || hop.weight == 0) return kInactive;
  if (hop.weight == 1) return std::min(least, link.capacity);
  if (static_cast<Work>(least) * hop.weight <= link.capacity) return least;
  return link.capacity / hop.weight;
}

}  // namespace

std::uint32_t Links::add(std::int64_t capacity) {
  std::uint32_t number = static_cast<std::uint32_t>(links_.size());
  if (free_links_.empty()) {
    links_.emplace_back();
  } else {
    number = free_links_.back();
    free_links_.pop_back();
  }
  links_[number].capacity = capacity;
  return number;
}

Level Links::enter(std::uint32_t flow, std::uint32_t first, std::uint32_t size) {
  Level alone = kUnbounded;
  for (std::uint32_t i = first; i < first + size; ++i) {
    prefetch(i, first + size);
    Hop& hop = hops_[i];
    Link& link = links_[hop.link];
    hop.slot = link.members.size();
    link.members.push_back({flow, hop.weight, i});
    exchange(link, hop.slot, link.active);
    ++link.active;
    alone = lower_alone(link, hop, alone);
  }
  return alone;
}

Level Links::level_alone(std::uint32_t first, std::uint32_t size) const {
  Level alone = kUnbounded;
  for (const Hop& hop : path(first, size)) alone = lower_alone(links_[hop.link], hop, alone);
  return alone;
}

void Links::carry_alone(std::uint32_t first, std::uint32_t size, Level level) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    prefetch(i, first + size);
    Link& link = links_[hops_[i].link];
    link.used = level * hops_[i].weight;
    if (link.capacity - link.used < hops_[i].weight) link.level = level;
  }
}

void Links::carry(std::uint32_t first, std::uint32_t size, std::int64_t more) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    prefetch(i, first + size);
    links_[hops_[i].link].used += more * hops_[i].weight;
  }
}

void Links::reenter(std::uint32_t first, std::uint32_t size) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    Link& link = links_[hops_[i].link];
    exchange(link, hops_[i].slot, link.active);
    ++link.active;
  }
}

void Links::forget(std::uint32_t first, std::uint32_t size) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    Link& link = links_[hops_[i].link];
    exchange(link, hops_[i].slot, link.members.size() - 1);
    link.members.pop_back();
    hops_[i].slot = kNone;
  }
}

std::size_t Links::bytes() const {
  std::size_t total = links_.capacity() * sizeof(Link) + hops_.capacity() * sizeof(Hop);
  for (const Link& link : links_) total += link.members.bytes();
  return total;
}

}  // namespace flopcast::network::flow
