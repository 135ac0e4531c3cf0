// Short lists of numbers, one per flow and purpose, in one pool.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flow/numbers.h"

namespace flopcast::network::flow {

/// A list is named by its first node; kNone: empty.
class Lists {
 public:
  void add(std::uint32_t& list, std::uint32_t value) {
    std::uint32_t node = free_;
    if (node == kNone) {
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({});
    } else {
      free_ = nodes_[node].next;
    }
    nodes_[node] = {value, list};
    list = node;
  }
  /// Its first occurrence, if there is one.
  void remove(std::uint32_t& list, std::uint32_t value) {
    std::uint32_t* at = &list;
    while (*at != kNone && nodes_[*at].value != value) at = &nodes_[*at].next;
    if (*at == kNone) return;
    const std::uint32_t node = *at;
    *at = nodes_[node].next;
    nodes_[node].next = free_;
    free_ = node;
  }
  void clear(std::uint32_t& list) {
    while (list != kNone) {
      const std::uint32_t next = nodes_[list].next;
      nodes_[list].next = free_;
      free_ = list;
      list = next;
    }
  }
  void prefetch(std::uint32_t list) const {
    if (list != kNone) __builtin_prefetch(&nodes_[list]);
  }
  template <typename Visit>
  void for_first(std::uint32_t list, int count, Visit visit) const {
    for (; list != kNone && count > 0; list = nodes_[list].next, --count) visit(nodes_[list].value);
  }
  template <typename Visit>
  void for_each(std::uint32_t list, Visit visit) const {
    for (; list != kNone; list = nodes_[list].next) visit(nodes_[list].value);
  }
  std::size_t bytes() const { return nodes_.capacity() * sizeof(Node); }

 private:
  struct Node {
    std::uint32_t value, next;
  };
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
};

}  // namespace flopcast::network::flow
