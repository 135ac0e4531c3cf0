#include "serving/schedule/blocks.h"

#include <algorithm>

namespace flopcast::serving {

BlockPool::BlockPool(std::int64_t total, std::int64_t block, bool caching)
    : total_(total), free_(total), block_(block), caching_(caching) {
  if (caching_) queue_dead(total);
}

void BlockPool::queue_dead(std::int64_t count) {
  if (!queue_.empty() && queue_.back().node == 0) {
    queue_.back().count += count;
  } else {
    queue_.push_back({count, 0, 0});
  }
}

void BlockPool::queue_node(std::uint32_t node) { queue_.push_back({0, node, nodes_[node].stamp}); }

void BlockPool::overwrite(std::int64_t count) {
  while (count > 0) {
    Segment& head = queue_.front();
    if (head.node == 0) {
      const std::int64_t here = std::min(count, head.count);
      head.count -= here;
      count -= here;
      if (head.count > 0) return;
    } else if (Node& node = nodes_[head.node]; node.stamp == head.stamp) {
      const std::int64_t here = std::min(count, node.blocks);
      node.blocks -= here;
      count -= here;
      if (node.blocks > 0) return;
      remove_node(head.node);
    }
    queue_.pop_front();
  }
}

std::uint32_t BlockPool::add_node(std::uint64_t hash) {
  std::uint32_t node = 0;
  if (spare_nodes_.empty()) {
    node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = spare_nodes_.back();
    spare_nodes_.pop_back();
  }
  const std::uint32_t stamp = nodes_[node].stamp;
  nodes_[node] = Node{.hash = hash, .stamp = stamp};
  return node;
}

void BlockPool::remove_node(std::uint32_t node) {
  if (!nodes_[node].own) by_hash_.erase(nodes_[node].hash);
  ++nodes_[node].stamp;
  spare_nodes_.push_back(node);
}

std::uint32_t BlockPool::find(std::uint64_t hash) const {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? 0 : found->second;
}

std::int64_t BlockPool::bound(const RequestState& state, std::size_t hashes) const {
  return std::min(static_cast<std::int64_t>(hashes) * state.prefix_block, state.input) / block_;
}

PrefixHit BlockPool::lookup(const RequestState& state, std::span<const std::uint64_t> prefix,
                            std::int64_t tokens) const {
  PrefixHit hit;
  if (!caching_ || (prefix.empty() && state.own_node == 0)) return hit;
  const std::int64_t most = (tokens - 1) / block_;
  for (std::size_t i = 0; i < prefix.size() && hit.shared < most; ++i) {
    const std::int64_t whole = bound(state, i + 1) - bound(state, i);
    if (whole <= 0) continue;
    const std::uint32_t at = find(prefix[i]);
    if (at == 0) break;
    const Node& node = nodes_[at];
    hit.nodes = static_cast<std::uint32_t>(i + 1);
    hit.shared = std::min(hit.shared + std::min(node.blocks, whole), most);
    if (node.holders == 0) hit.idle += node.blocks;
    if (node.blocks < whole) break;
  }
  hit.blocks = hit.shared;
  if (state.own_node == 0) return hit;
  const Node& own = nodes_[state.own_node];
  if (own.stamp == state.own_stamp && own.start == hit.shared && own.start < most) {
    hit.own = true;
    hit.blocks = std::min(hit.shared + own.blocks, most);
    hit.idle += own.blocks;
  }
  return hit;
}

std::int64_t BlockPool::cached_tokens(std::span<const std::uint64_t> prefix,
                                      std::int64_t prefix_block) const {
  RequestState state;
  state.input = static_cast<std::int64_t>(prefix.size()) * prefix_block;
  state.prefix_block = prefix_block;
  return lookup(state, prefix, state.input + 1).blocks * block_;
}

void BlockPool::claim(RequestState& state, std::span<const std::uint64_t> prefix,
                      const PrefixHit& hit) {
  for (std::uint32_t i = 0; i < hit.nodes; ++i) {
    if (bound(state, i + 1) == bound(state, i)) continue;
    Node& node = nodes_[find(prefix[i])];
    if (node.holders++ == 0) ++node.stamp;
  }
  free_ -= hit.idle;
  if (hit.own) {
    // What is past the last token that may be found again is written anew.
    give(nodes_[state.own_node].blocks - (hit.blocks - hit.shared));
    remove_node(state.own_node);
  }
  state.own_node = 0;
  state.nodes = hit.nodes;
  state.shared_blocks = hit.shared;
  state.blocks = hit.blocks;
}

void BlockPool::publish(RequestState& state, std::span<const std::uint64_t> prefix) {
  if (!caching_ || prefix.empty()) return;
  const std::int64_t whole = std::min(state.computed, state.input) / block_;
  for (std::size_t i = state.nodes == 0 ? 0 : state.nodes - 1; i < prefix.size(); ++i) {
    const std::int64_t begin = bound(state, i), end = std::min(bound(state, i + 1), whole);
    if (end <= state.shared_blocks) {
      if (begin >= whole && bound(state, i + 1) > begin) return;
      continue;
    }
    std::uint32_t at = find(prefix[i]);
    const bool held = i < state.nodes;
    // Somebody else has written the same: these blocks stay this request's alone.
    if (held ? at == 0 || nodes_[at].blocks != state.shared_blocks - begin : at != 0) return;
    if (!held) {
      at = add_node(prefix[i]);
      by_hash_.emplace(prefix[i], at);
      nodes_[at].holders = 1;
      state.nodes = static_cast<std::uint32_t>(i + 1);
    }
    nodes_[at].blocks = end - begin;
    state.shared_blocks = end;
  }
}

void BlockPool::release(RequestState& state, std::span<const std::uint64_t> prefix,
                        std::int64_t blocks, std::int64_t computed) {
  const std::int64_t alone = blocks - state.shared_blocks;
  const std::int64_t kept =
      caching_ ? std::clamp<std::int64_t>(computed / block_ - state.shared_blocks, 0, alone) : 0;
  give(alone - kept);
  if (kept > 0) {
    state.own_node = add_node(0);
    Node& node = nodes_[state.own_node];
    node.own = true;
    node.blocks = kept;
    node.start = state.shared_blocks;
    state.own_stamp = node.stamp;
    queue_node(state.own_node);
    free_ += kept;
  }
  for (std::uint32_t i = state.nodes; i-- > 0;) {
    if (bound(state, i + 1) == bound(state, i)) continue;
    const std::uint32_t at = find(prefix[i]);
    if (--nodes_[at].holders > 0) continue;
    free_ += nodes_[at].blocks;
    queue_node(at);
  }
  state.nodes = 0;
  state.blocks = state.shared_blocks = 0;
}

}  // namespace flopcast::serving
