#include "analytic/allocator/step_replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analytic/allocator/caching_allocator.h"

namespace flopcast::analytic {
namespace {

constexpr CachingAllocator::Stream kCompute = 0, kGather = 1;

/// Counts what is allocated; a block is its size. CachingAllocator allots no less.
class CountingAllocator {
 public:
  using Block = std::int64_t;

  std::optional<Block> allocate(std::int64_t bytes, CachingAllocator::Stream) {
    constexpr std::int64_t kUnit = 512;
    const Block block = (bytes + kUnit - 1) / kUnit * kUnit;
    allocated_ += block;
    most_ = std::max(most_, allocated_);
    return block;
  }
  void free(Block block) { allocated_ -= block; }
  std::int64_t most_allocated() const { return most_; }

 private:
  std::int64_t allocated_ = 0, most_ = 0;
};

template <typename Allocator>
class Player {
  using Block = typename Allocator::Block;
  /// A list's tensors of one microbatch.
  using Table = std::vector<std::optional<Block>>;
  /// Weights of a list while they are whole.
  struct Gathered {
    std::vector<Block> weights;
    bool held = false;
  };

 public:
  Player(const ChipTape& chip, const StepPlay& play, Allocator allocator)
      : play_(play), boundary_(chip.boundary), allocator_(std::move(allocator)) {
    if (chip.embedding != nullptr) lists_.push_back(chip.embedding);
    first_layer_ = lists_.size();
    lists_.insert(lists_.end(), chip.layers.begin(), chip.layers.end());
    last_layer_ = lists_.size();
    if (chip.head != nullptr) lists_.push_back(chip.head);
    gathered_.resize(lists_.size());
  }

  const Allocator& allocator() const { return allocator_; }

  void run_step() {
    if (play_.sharded) gather_ends();
    std::vector<std::vector<Table>> flying;
    const unsigned most = play_.in_flight;
    // A pipeline that is full hands one microbatch on for each that it takes.
    const unsigned rounds = most > 1 ? 1 : 0;
    for (unsigned i = 0; i < most; ++i) flying.push_back(forward(i + 1 == most));
    for (unsigned i = 0; i < rounds; ++i) {
      backward(flying.front(), false);
      flying.erase(flying.begin());
      flying.push_back(forward(true));
    }
    while (!flying.empty()) {
      backward(flying.front(), flying.size() == 1);
      flying.erase(flying.begin());
    }
    if (play_.sharded) end_sharded();
  }

 private:
  bool is_end(std::size_t list) const { return list < first_layer_ || list >= last_layer_; }

  Block take(std::int64_t bytes, CachingAllocator::Stream stream = kCompute) {
    return *allocator_.allocate(std::max<std::int64_t>(bytes, 1), stream);
  }
  void give(std::optional<Block>& block) {
    if (block) allocator_.free(*std::exchange(block, std::nullopt));
  }
  void give(std::vector<Block>& blocks) {
    for (const Block block : std::exchange(blocks, {})) allocator_.free(block);
  }

  void run(const std::vector<TensorCall>& calls, Table& table) {
    for (const TensorCall& call : calls) {
      if (call.weight && !play_.sharded) continue;
      if (call.bytes > 0) {
        table[call.tensor] = take(call.bytes);
      } else {
        give(table[call.tensor]);
      }
    }
  }

  std::optional<Block> moved(Table& table, std::uint16_t tensor) {
    if (tensor == ListTensors::kNone) return std::nullopt;
    return std::exchange(table[tensor], std::nullopt);
  }

  std::vector<Table> forward(bool ends) {
    std::vector<Table> tables(lists_.size());
    std::optional<Block> carried;
    if (first_layer_ == 0) carried = take(boundary_);
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (is_end(i) && !ends && !play_.ends_fly) {
        if (i < first_layer_) carried = take(boundary_);
        continue;
      }
      if (play_.sharded && !is_end(i)) gather(i);
      Table& table = tables[i];
      table.resize(lists_[i]->tensors);
      table[ListTensors::kInput] = std::exchange(carried, std::nullopt);
      run(lists_[i]->forward, table);
      carried = moved(table, lists_[i]->output);
      if (play_.sharded && play_.reshard && !is_end(i) && i + 1 < last_layer_) drop(i);
    }
    give(carried);  // sent on
    return tables;
  }

  void backward(std::vector<Table>& tables, bool last) {
    std::optional<Block> carried;
    const bool has_head = last_layer_ < lists_.size() && !tables.back().empty();
    if (!has_head) carried = take(boundary_);
    for (std::size_t i = lists_.size(); i-- > 0;) {
      Table& table = tables[i];
      if (table.empty()) continue;
      if (play_.sharded && !is_end(i)) {
        gather(i);
        if (i > first_layer_) prefetch(i - 1);
      }
      table[ListTensors::kGradient] = std::exchange(carried, std::nullopt);
      run(lists_[i]->backward, table);
      carried = moved(table, lists_[i]->input_gradient);
      if (!play_.sharded) continue;
      if (is_end(i)) {
        for (const std::uint16_t tensor : lists_[i]->weight_gradients) {
          end_gradients_.push_back(*moved(table, tensor));
        }
        if (!last) give(end_gradients_);
      } else {
        reduce(i, table);
        if (play_.reshard || last) drop(i);
      }
    }
    give(carried);
  }

  /// The buffer of an all-gather, on its stream; the weights are copied out of it when it is waited for.
  void prefetch(std::size_t list) {
    if (gathered_[list].held || prefetched_) return;
    prefetched_ = take(lists_[list]->weight_bytes, kGather);
  }

  void gather(std::size_t list) {
    if (gathered_[list].held) return;
    prefetch(list);
    give(copied_);
    copied_ = std::exchange(prefetched_, std::nullopt);
    for (const std::int64_t bytes : lists_[list]->weights) {
      gathered_[list].weights.push_back(take(bytes));
    }
    gathered_[list].held = true;
  }

  /// Embedding and head: one buffer.
  void gather_ends() {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < lists_.size(); ++i)
      bytes += is_end(i) ? lists_[i]->weight_bytes : 0;
    if (bytes == 0) return;
    const Block buffer = take(bytes, kGather);
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (!is_end(i)) continue;
      for (const std::int64_t of : lists_[i]->weights) gathered_[i].weights.push_back(take(of));
    }
    copied_ = buffer;
  }

  void drop(std::size_t list) {
    give(gathered_[list].weights);
    gathered_[list].held = false;
  }

  void reduce(std::size_t list, Table& table) {
    const auto bytes =
        static_cast<std::int64_t>(play_.reduced_bytes * static_cast<double>(lists_[list]->trained));
    std::optional<Block> next;
    if (bytes > 0) next = take(bytes);
    for (const std::uint16_t tensor : lists_[list]->weight_gradients) give(table[tensor]);
    give(reducing_);
    reducing_ = next;
  }

  void end_sharded() {
    double trained = 0;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (is_end(i)) trained += static_cast<double>(lists_[i]->trained);
    }
    if (trained > 0) {
      std::optional<Block> buffer = take(static_cast<std::int64_t>(play_.reduced_bytes * trained));
      give(end_gradients_);
      give(reducing_);
      give(buffer);
    }
    give(reducing_);
    for (std::size_t i = 0; i < lists_.size(); ++i) drop(i);
    give(copied_);
  }

  const StepPlay& play_;
  std::int64_t boundary_;
  Allocator allocator_;
  std::vector<const ListTensors*> lists_;
  std::size_t first_layer_ = 0, last_layer_ = 0;
  std::vector<Gathered> gathered_;  ///< by list
  std::optional<Block> prefetched_, copied_, reducing_;
  std::vector<Block> end_gradients_;
};

}  // namespace

StepPeak replay_step(const ChipTape& chip, const StepPlay& play) {
  Player player(chip, play, CachingAllocator({.expandable = play.expandable}));
  for (int step = 0; step < 2; ++step) player.run_step();
  return {player.allocator().most_allocated(), player.allocator().most_reserved()};
}

std::int64_t count_step(const ChipTape& chip, const StepPlay& play) {
  Player player(chip, play, CountingAllocator());
  player.run_step();
  return player.allocator().most_allocated();
}

}  // namespace flopcast::analytic
