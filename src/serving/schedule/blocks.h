// Blocks of keys and values of one attention rank, and which of the free ones still hold a prefix that may be asked for
// again.
//
// Free blocks wait in a queue; the next to be written is at its head. Who ends puts its blocks at the tail, last block
// first, so that the head of a prompt outlives its tail (vLLM: vllm/v1/core/block_pool.py, FreeKVCacheBlockQueue, and
// single_type_kv_cache_manager.py, free). SGLang's radix cache evicts leaves, least recently used first
// (python/sglang/srt/mem_cache/radix_cache.py): the same order, with blocks of one page.
//
// A prefix is known by chained hashes of `prefix_block` tokens: a node of the cache is the whole engine blocks that end
// within one hash. Blocks that no hash names (answers, ends of prompts) are found again only by the request that left
// them when it was preempted.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "serving/schedule/requests.h"

namespace flopcast::serving {

/// What a request would find in the cache.
struct PrefixHit {
  std::int64_t blocks = 0;  ///< whole blocks from its begin
  std::int64_t shared = 0;  ///< of them, in nodes that others may hold too
  std::int64_t idle = 0;    ///< blocks that are free now and would be no longer
  std::uint32_t nodes = 0;  ///< hashes that were met
  bool own = false;         ///< what it left itself is part of it
};

/// Counts blocks exactly; knows what the free ones hold.
class BlockPool {
 public:
  /// @param block tokens of one. @param caching whether prefixes are kept
  BlockPool(std::int64_t total, std::int64_t block, bool caching);
  std::int64_t total() const { return total_; }
  std::int64_t free() const { return free_; }  ///< nobody holds them
  std::int64_t used() const { return total_ - free_; }
  std::int64_t block() const { return block_; }
  std::int64_t blocks_of(std::int64_t tokens) const { return (tokens + block_ - 1) / block_; }

  /// @pre count <= free()
  void take(std::int64_t count) {
    free_ -= count;
    if (caching_ && count > 0) overwrite(count);
  }
  /// Blocks that hold nothing anybody will ask for.
  void give(std::int64_t count) {
    free_ += count;
    if (caching_ && count > 0) queue_dead(count);
  }

  /// What a request finds that computes `tokens` tokens: whole blocks, never the last token.
  PrefixHit lookup(const RequestState& state, std::span<const std::uint64_t> prefix,
                   std::int64_t tokens) const;
  /// Blocks of these hashes that are here, in tokens.
  std::int64_t cached_tokens(std::span<const std::uint64_t> prefix,
                             std::int64_t prefix_block) const;
  /// It holds them now.
  void claim(RequestState& state, std::span<const std::uint64_t> prefix, const PrefixHit& hit);
  /// Its tokens up to `state.computed` are written: whole blocks of its prefix can be found by others.
  void publish(RequestState& state, std::span<const std::uint64_t> prefix);
  /// Gives back `blocks` blocks, all that it holds. @param computed tokens that it finds again if it
  /// comes back; 0: it will not
  void release(RequestState& state, std::span<const std::uint64_t> prefix, std::int64_t blocks,
               std::int64_t computed);

 private:
  struct Node {
    std::uint64_t hash = 0;
    std::int64_t blocks = 0;  // that are still there, from its begin
    std::int64_t start = 0;   // what a preempted request left: behind so many blocks
    std::uint32_t holders = 0;
    std::uint32_t stamp = 0;  // changes whenever it leaves the queue
    bool own = false;
  };
  struct Segment {
    std::int64_t count = 0;  // of blocks that hold nothing
    std::uint32_t node = 0;  // 0: none
    std::uint32_t stamp = 0;
  };
  void overwrite(std::int64_t count);
  void queue_dead(std::int64_t count);
  void queue_node(std::uint32_t node);
  std::uint32_t add_node(std::uint64_t hash);
  void remove_node(std::uint32_t node);
  std::uint32_t find(std::uint64_t hash) const;
  /// blocks that end within the first `hashes` hashes of a prompt
  std::int64_t bound(const RequestState& state, std::size_t hashes) const;

  std::int64_t total_, free_, block_;
  bool caching_;
  std::deque<Segment> queue_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<std::uint32_t> spare_nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace flopcast::serving
