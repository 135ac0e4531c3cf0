#include "network/flow/links.h"

#include <utility>

namespace flopcast::network::flow {
namespace {

constexpr std::uint32_t kAhead = 16;  // hops

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

std::uint32_t Links::take_path(std::uint32_t size) {
  if (size < free_paths_.size() && free_paths_[size] != kNone) {
    const std::uint32_t first = free_paths_[size];
    free_paths_[size] = hops_[first].slot;
    return first;
  }
  hops_.resize(hops_.size() + size);
  return static_cast<std::uint32_t>(hops_.size() - size);
}

void Links::free_path(std::uint32_t first, std::uint32_t size) {
  if (size == 0) return;
  if (size >= free_paths_.size()) free_paths_.resize(size + std::size_t{1}, kNone);
  hops_[first].slot = free_paths_[size];
  free_paths_[size] = first;
}

void Links::exchange(Link& link, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  std::swap(link.members[a], link.members[b]);
  hops_[link.members[a].hop].slot = a;
  hops_[link.members[b].hop].slot = b;
}

void Links::enter(std::uint32_t flow, std::uint32_t first, std::uint32_t size) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    // A macro-flow is the first to see thousands of links.
    if (i + kAhead < first + size) __builtin_prefetch(&links_[hops_[i + kAhead].link], 1);
    Hop& hop = hops_[i];
    Link& link = links_[hop.link];
    hop.slot = link.members.size();
    link.members.push_back({flow, hop.weight, i});
    exchange(link, hop.slot, link.active);
    ++link.active;
    link.weight += hop.weight;
  }
}

void Links::leave(std::uint32_t first, std::uint32_t size) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    Link& link = links_[hops_[i].link];
    --link.active;
    link.weight -= hops_[i].weight;
    exchange(link, hops_[i].slot, link.active);
  }
}

void Links::reenter(std::uint32_t first, std::uint32_t size) {
  for (std::uint32_t i = first; i < first + size; ++i) {
    Link& link = links_[hops_[i].link];
    exchange(link, hops_[i].slot, link.active);
    ++link.active;
    link.weight += hops_[i].weight;
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
