// PyTorch's caching allocator of device memory, played with sizes alone: what it reserves for a sequence of requests, and
// what of that lies in holes.
//
// The rules are those of c10/cuda/CUDACachingAllocator.cpp (PyTorch 2.x) and of "Memory management" in PyTorch's notes on
// CUDA. Sizes are rounded up to 512 B. Requests of up to 1 MiB share segments of 2 MiB, those below 10 MiB segments of 20 MiB,
// larger ones get a segment of their own, rounded up to 2 MiB. A request takes the smallest free block of its stream and pool
// that is large enough, the first of several; what is left of it becomes a block of its own where it is at least 512 B (of a
// small one) or more than 1 MiB (of a large one). Free neighbours are one block. Where the device has no more, whole free
// segments go back to it and the request is tried again.
//
// Expandable segments: one range of addresses for each stream and pool, which grows by pages of 2 MiB (small) or 20 MiB (large),
// the last free block of it first; every remainder of at least 512 B is split off.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace flopcast::analytic {

struct AllocatorOptions {
  std::int64_t capacity = std::numeric_limits<std::int64_t>::max();  ///< B that the device has
  bool expandable = false;  ///< PYTORCH_ALLOC_CONF=expandable_segments:True
};

/// Not thread-safe. The same calls have the same effect.
class CachingAllocator {
 public:
  using Block = std::uint32_t;
  using Stream = std::uint32_t;  ///< small numbers

  explicit CachingAllocator(const AllocatorOptions& options = {});

  /// @param bytes > 0. @return nullopt: out of memory, with everything cached given back.
  std::optional<Block> allocate(std::int64_t bytes, Stream stream = 0);
  /// The block may be had again at once by requests of its stream, or once the streams that used it are done.
  void free(Block block);
  /// Another stream works on the block (Tensor.record_stream).
  void use(Block block, Stream stream);
  /// All that was launched on the stream before now is done.
  void finish(Stream stream);
  /// torch.cuda.empty_cache(): waits for all streams and gives back what is free.
  void empty_cache();

  std::int64_t allocated() const { return allocated_; }            ///< B, rounded, not freed
  std::int64_t reserved() const { return reserved_; }              ///< B had from the device
  std::int64_t most_allocated() const { return most_allocated_; }  ///< at any time
  std::int64_t most_reserved() const { return most_reserved_; }    ///< at any time

 private:
  static constexpr Block kNone = std::numeric_limits<Block>::max();
  enum class Held : std::uint8_t { kFree, kInUse, kWaiting, kUnmapped };
  /// A piece of a segment; pieces of a segment are linked in the order of their addresses.
  struct Piece {
    std::int64_t address = 0, size = 0;
    Block before = kNone, after = kNone;
    std::uint32_t pool = 0;
    Held held = Held::kFree;
    std::vector<Stream> users;  ///< other streams that use it
  };
  struct Entry {
    std::int64_t size, address;
    Block block;
    auto operator<=>(const Entry&) const = default;
  };
  struct Pool {
    bool small = false;
    std::vector<Entry> free;      ///< by size, then address
    std::vector<Block> unmapped;  ///< of an expandable segment, by address
  };

  Pool& pool_of(bool small, Stream stream);
  Block new_piece(std::uint32_t pool, std::int64_t address, std::int64_t size, Held held);
  void link_after(Block before, Block piece);
  void insert(Block piece);
  void remove(Block piece);
  Block best_fit(std::uint32_t pool, std::int64_t size);
  Block obtain(std::uint32_t pool, std::int64_t size);
  Block new_segment(std::uint32_t pool, std::int64_t size);
  Block grow(std::uint32_t pool, std::int64_t size);
  bool map(Block unmapped, std::int64_t size);
  void split(Block piece, std::int64_t size);
  void absorb_after(Block piece);
  Block release(Block piece);
  void unmap(Block piece);
  void merge_and_insert(Block piece);
  bool is_room(Block piece) const;
  bool fits_after(Block piece, std::int64_t size) const;

  AllocatorOptions options_;
  std::vector<Pool> pools_;  ///< 2 x stream + small
  std::vector<Piece> pieces_;
  std::vector<Block> spare_;    ///< of pieces_
  std::vector<Block> waiting_;  ///< freed, in use by other streams
  std::int64_t next_address_ = 0;
  std::int64_t allocated_ = 0, reserved_ = 0, most_allocated_ = 0, most_reserved_ = 0;
};

}  // namespace flopcast::analytic
