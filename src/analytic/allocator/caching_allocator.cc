#include "analytic/allocator/caching_allocator.h"

#include <algorithm>
#include <utility>

namespace flopcast::analytic {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kLeastBlock = 512;
constexpr std::int64_t kLargestSmall = kMiB;
constexpr std::int64_t kSmallSegment = 2 * kMiB;
constexpr std::int64_t kSharedSegment = 20 * kMiB;
constexpr std::int64_t kLeastOwnSegment = 10 * kMiB;
constexpr std::int64_t kSegmentStep = 2 * kMiB;
/// Of addresses that an expandable segment has: more than any device.
constexpr std::int64_t kRange = std::int64_t{1} << 50;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

std::int64_t segment_size(std::int64_t size) {
  if (size <= kLargestSmall) return kSmallSegment;
  return size < kLeastOwnSegment ? kSharedSegment : round_up(size, kSegmentStep);
}

std::int64_t page_size(bool small) { return small ? kSmallSegment : kSharedSegment; }

}  // namespace

CachingAllocator::CachingAllocator(const AllocatorOptions& options) : options_(options) {}

CachingAllocator::Pool& CachingAllocator::pool_of(bool small, Stream stream) {
  const std::size_t index = 2 * std::size_t{stream} + (small ? 1 : 0);
  while (pools_.size() <= index) {
    const bool odd = pools_.size() % 2 == 1;
    pools_.emplace_back().small = odd;
  }
  return pools_[index];
}

CachingAllocator::Block CachingAllocator::new_piece(std::uint32_t pool, std::int64_t address,
                                                    std::int64_t size, Held held) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<Block>(pieces_.size()));
    pieces_.emplace_back();
  }
  const Block block = spare_.back();
  spare_.pop_back();
  pieces_[block] = {.address = address, .size = size, .pool = pool, .held = held, .users = {}};
  return block;
}

void CachingAllocator::link_after(Block before, Block piece) {
  const Block after = pieces_[before].after;
  pieces_[piece].before = before;
  pieces_[piece].after = after;
  pieces_[before].after = piece;
  if (after != kNone) pieces_[after].before = piece;
}

void CachingAllocator::insert(Block block) {
  Piece& piece = pieces_[block];
  piece.held = Held::kFree;
  std::vector<Entry>& free = pools_[piece.pool].free;
  const Entry entry{piece.size, piece.address, block};
  free.insert(std::ranges::lower_bound(free, entry), entry);
}

void CachingAllocator::remove(Block block) {
  const Piece& piece = pieces_[block];
  std::vector<Entry>& free = pools_[piece.pool].free;
  free.erase(std::ranges::lower_bound(free, Entry{piece.size, piece.address, block}));
}

CachingAllocator::Block CachingAllocator::best_fit(std::uint32_t pool, std::int64_t size) {
  std::vector<Entry>& free = pools_[pool].free;
  const auto found = std::ranges::lower_bound(free, size, {}, &Entry::size);
  if (found == free.end()) return kNone;
  const Block block = found->block;
  free.erase(found);
  return block;
}

CachingAllocator::Block CachingAllocator::new_segment(std::uint32_t pool, std::int64_t size) {
  const std::int64_t whole = segment_size(size);
  if (whole > options_.capacity - reserved_) return kNone;
  reserved_ += whole;
  const Block block = new_piece(pool, next_address_, whole, Held::kInUse);
  next_address_ += whole;
  return block;
}

bool CachingAllocator::is_room(Block block) const {
  const Held held = pieces_[block].held;
  return held == Held::kFree || held == Held::kUnmapped;
}

bool CachingAllocator::fits_after(Block block, std::int64_t size) const {
  std::int64_t room = 0;
  for (; room < size && block != kNone && is_room(block); block = pieces_[block].after) {
    room += pieces_[block].size;
  }
  return room >= size;
}

/// Memory for the first bytes of an unmapped piece, which becomes free and one with free neighbours before it.
bool CachingAllocator::map(Block block, std::int64_t size) {
  const std::uint32_t pool = pieces_[block].pool;
  const std::int64_t mapped = round_up(size, page_size(pools_[pool].small));
  if (mapped > options_.capacity - reserved_) return false;
  reserved_ += mapped;
  std::vector<Block>& unmapped = pools_[pool].unmapped;
  const auto at = std::ranges::find(unmapped, block);
  if (pieces_[block].size > mapped) {
    const Block rest = new_piece(pool, pieces_[block].address + mapped,
                                 pieces_[block].size - mapped, Held::kUnmapped);
    link_after(block, rest);
    pieces_[block].size = mapped;
    *at = rest;
  } else {
    unmapped.erase(at);
  }
  return true;
}

/// The lowest place of an expandable segment where pages may be added for a block of this size.
CachingAllocator::Block CachingAllocator::grow(std::uint32_t pool, std::int64_t size) {
  if (pools_[pool].unmapped.empty()) {
    pools_[pool].unmapped.push_back(new_piece(pool, next_address_, kRange, Held::kUnmapped));
    next_address_ += kRange;
  }
  Block start = kNone;
  for (const Block unmapped : pools_[pool].unmapped) {
    const Block before = pieces_[unmapped].before;
    const Block from = before != kNone && pieces_[before].held == Held::kFree ? before : unmapped;
    if (!fits_after(from, size)) continue;
    start = from;
    break;
  }
  if (start == kNone) return kNone;
  if (pieces_[start].held == Held::kFree) {
    remove(start);
  } else if (!map(start, std::min(size, pieces_[start].size))) {
    return kNone;
  }
  pieces_[start].held = Held::kInUse;
  while (pieces_[start].size < size) {
    const Block next = pieces_[start].after;
    const bool is_free = pieces_[next].held == Held::kFree;
    if (is_free) remove(next);
    if (!is_free && !map(next, std::min(size - pieces_[start].size, pieces_[next].size))) {
      merge_and_insert(start);
      return kNone;
    }
    absorb_after(start);
  }
  // Pages may end in front of a free block.
  const Block next = pieces_[start].after;
  if (next != kNone && pieces_[next].held == Held::kFree) remove(next), absorb_after(start);
  return start;
}

CachingAllocator::Block CachingAllocator::obtain(std::uint32_t pool, std::int64_t size) {
  Block block = best_fit(pool, size);
  const auto more = [&] {
    return options_.expandable ? grow(pool, size) : new_segment(pool, size);
  };
  if (block == kNone) block = more();
  if (block == kNone) {
    empty_cache();
    block = best_fit(pool, size);
    if (block == kNone) block = more();
  }
  return block;
}

void CachingAllocator::split(Block block, std::int64_t size) {
  const std::uint32_t pool = pieces_[block].pool;
  const std::int64_t left = pieces_[block].size - size;
  const bool fine = pools_[pool].small || options_.expandable;
  if (fine ? left < kLeastBlock : left <= kLargestSmall) return;
  const Block rest = new_piece(pool, pieces_[block].address + size, left, Held::kFree);
  pieces_[block].size = size;
  link_after(block, rest);
  insert(rest);
}

std::optional<CachingAllocator::Block> CachingAllocator::allocate(std::int64_t bytes,
                                                                  Stream stream) {
  const std::int64_t size = round_up(std::max(bytes, kLeastBlock), kLeastBlock);
  const bool small = size <= kLargestSmall;
  pool_of(small, stream);
  const std::uint32_t pool = 2 * stream + (small ? 1 : 0);
  const Block block = obtain(pool, size);
  most_reserved_ = std::max(most_reserved_, reserved_);
  if (block == kNone) return std::nullopt;
  split(block, size);
  pieces_[block].held = Held::kInUse;
  allocated_ += pieces_[block].size;
  most_allocated_ = std::max(most_allocated_, allocated_);
  return block;
}

/// Makes one piece of this and the one after it, which is in no list.
void CachingAllocator::absorb_after(Block block) {
  const Block next = pieces_[block].after;
  pieces_[block].size += pieces_[next].size;
  pieces_[block].after = pieces_[next].after;
  if (pieces_[next].after != kNone) pieces_[pieces_[next].after].before = block;
  spare_.push_back(next);
}

void CachingAllocator::merge_and_insert(Block block) {
  const Block next = pieces_[block].after, before = pieces_[block].before;
  if (next != kNone && pieces_[next].held == Held::kFree) remove(next), absorb_after(block);
  if (before != kNone && pieces_[before].held == Held::kFree) {
    remove(before);
    absorb_after(before);
    block = before;
  }
  insert(block);
}

void CachingAllocator::free(Block block) {
  allocated_ -= pieces_[block].size;
  if (pieces_[block].users.empty()) return merge_and_insert(block);
  pieces_[block].held = Held::kWaiting;
  waiting_.push_back(block);
}

void CachingAllocator::use(Block block, Stream stream) {
  std::vector<Stream>& users = pieces_[block].users;
  if (2 * stream == (pieces_[block].pool & ~1U)) return;
  if (std::ranges::find(users, stream) == users.end()) users.push_back(stream);
}

void CachingAllocator::finish(Stream stream) {
  std::vector<Block> still;
  for (const Block block : std::exchange(waiting_, {})) {
    std::erase(pieces_[block].users, stream);
    if (pieces_[block].users.empty()) {
      merge_and_insert(block);
    } else {
      still.push_back(block);
    }
  }
  waiting_ = std::move(still);
}

/// Whole pages inside of a free piece go back to the device.
void CachingAllocator::unmap(Block block) {
  const std::uint32_t pool = pieces_[block].pool;
  const std::int64_t page = page_size(pools_[pool].small);
  // An expandable segment starts at a multiple of its pages.
  const Piece piece = pieces_[block];
  const std::int64_t start = piece.address % kRange, end = start + piece.size;
  const std::int64_t from = round_up(start, page), to = end / page * page;
  if (to <= from) return;
  remove(block);
  const std::int64_t base = piece.address - start;
  if (to < end) {
    const Block rest = new_piece(pool, base + to, end - to, Held::kFree);
    link_after(block, rest);
    insert(rest);
  }
  Block middle = block;
  if (from > start) {
    middle = new_piece(pool, base + from, to - from, Held::kFree);
    link_after(block, middle);
    pieces_[block].size = from - start;
    insert(block);
  }
  pieces_[middle].size = to - from;
  pieces_[middle].held = Held::kUnmapped;
  reserved_ -= to - from;
  std::vector<Block>& unmapped = pools_[pool].unmapped;
  const auto by_address = [&](Block other) { return pieces_[other].address; };
  unmapped.insert(std::ranges::upper_bound(unmapped, base + from, {}, by_address), middle);
  // Unmapped neighbours are one.
  for (const bool after : {true, false}) {
    const Block first = after ? middle : pieces_[middle].before;
    const Block second = after ? pieces_[middle].after : middle;
    if (first == kNone || second == kNone || pieces_[first].held != Held::kUnmapped ||
        pieces_[second].held != Held::kUnmapped) {
      continue;
    }
    std::erase(unmapped, second);
    absorb_after(first);
    middle = first;
  }
}

void CachingAllocator::empty_cache() {
  for (const Block block : std::exchange(waiting_, {})) {
    pieces_[block].users.clear();
    merge_and_insert(block);
  }
  for (Pool& pool : pools_) {
    for (const Entry& entry : std::vector<Entry>(pool.free)) {
      const Piece& piece = pieces_[entry.block];
      if (options_.expandable) {
        unmap(entry.block);
      } else if (piece.before == kNone && piece.after == kNone) {
        reserved_ -= piece.size;
        remove(entry.block);
        spare_.push_back(entry.block);
      }
    }
  }
}

}  // namespace flopcast::analytic
