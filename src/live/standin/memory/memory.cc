#include "live/standin/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "live/standin/link/link.h"
#include "live/standin/memory/shared_memory.h"
#include "live/standin/values/movement.h"

namespace flopcast::live {
namespace {

/// Addresses that cudaMalloc gives are multiples of this.
constexpr std::size_t kAlignment = 512;

/// What a context takes grows with the multiprocessors: a process that allocates nothing is at about 320 MiB on a Titan V of
/// 80 (pytorch issue 28394) and at 300 on one of 82 (issue 107667), once code is loaded as it is needed.
constexpr std::size_t kContextOfCore = std::size_t{4} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Memory& Memory::get() {
  static Memory* const memory = new Memory;  // frees come while the process ends
  return *memory;
}

/// Address space whose pages exist once they are touched, aligned to whole pages of the device.
void* Memory::reserve(std::size_t bytes) {
  const std::size_t with_slack = bytes + kPage;
  void* at = ::mmap(nullptr, with_slack, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t aligned = rounded_up(begin, kPage);
  if (aligned > begin) ::munmap(at, aligned - begin);
  const std::size_t behind = begin + with_slack - (aligned + bytes);
  if (behind > 0) ::munmap(reinterpret_cast<void*>(aligned + bytes), behind);
  return reinterpret_cast<void*>(aligned);
}

void Memory::take(int device, std::size_t bytes) {
  Level& level = levels_[device];
  level.used += bytes;
  level.most = std::max(level.most, level.used);
  Link::get().fills(static_cast<std::uint16_t>(device), level.most);
}

std::size_t Memory::capacity() { return Link::get().common().device.memory_bytes; }

void Memory::open_locked(int device) {
  if (std::exchange(levels_[device].open, true)) return;
  take(device, Link::get().common().device.cores * kContextOfCore);
}

void Memory::open(int device) {
  const std::lock_guard guard(lock_);
  open_locked(device);
}

bool Memory::has_left(int device, std::size_t bytes) {
  open_locked(device);
  return levels_[device].used + bytes <= capacity();
}

bool Memory::charge(int device, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  if (!has_left(device, bytes)) return false;
  take(device, bytes);
  return true;
}

void Memory::give_back(int device, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  levels_[device].used -= bytes;
}

void Memory::map(void* address, std::size_t bytes, int device) {
  const std::lock_guard guard(lock_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const Block& block = blocks_[begin] = {begin, bytes, 0, Place::kMapped, device};
  join(block);
}

void Memory::join(const Block& mapped) {
  auto own =
      spans_.insert_or_assign(mapped.address, Span{mapped.address + mapped.bytes, mapped.device})
          .first;
  const auto next = spans_.find(own->second.end);
  if (next != spans_.end() && next->second.device == mapped.device) {
    own->second.end = next->second.end;
    spans_.erase(next);
  }
  if (own == spans_.begin()) return;
  const auto before = std::prev(own);
  if (before->second.end != own->first || before->second.device != mapped.device) return;
  before->second.end = own->second.end;
  spans_.erase(own);
}

/// Out of the middle of its span.
void Memory::part(const Block& mapped) {
  const auto whole = std::prev(spans_.upper_bound(mapped.address));
  const auto [begin, span] = *whole;
  const std::uintptr_t end = mapped.address + mapped.bytes;
  if (begin == mapped.address) {
    spans_.erase(whole);
  } else {
    whole->second.end = mapped.address;
  }
  if (end < span.end) spans_[end] = span;
}

/// A small block: out of a page that others share.
std::optional<Block> Memory::carve(std::size_t bytes, int device) {
  for (auto page = pages_.lower_bound({device, 0});
       page != pages_.end() && page->first.first == device; ++page) {
    for (auto& [address, room] : page->second.free) {
      if (room < bytes) continue;
      const Block block{address, bytes, 0, Place::kDevice, device};
      const std::size_t left = room - bytes;
      page->second.free.erase(block.address);
      if (left > 0) page->second.free[block.address + bytes] = left;
      return block;
    }
  }
  return std::nullopt;
}

std::optional<Block> Memory::allocate(std::size_t bytes, int device, Place place) {
  const std::lock_guard guard(lock_);
  const std::size_t asked = rounded_up(std::max<std::size_t>(1, bytes), kAlignment);
  const bool counts = place == Place::kDevice || place == Place::kManaged;
  const bool small = counts && asked < kPage / 2;
  if (small) {
    if (std::optional<Block> block = carve(asked, device)) {
      blocks_[block->address] = *block;
      return block;
    }
  }
  const std::size_t taken = rounded_up(asked, kPage);
  if (counts && !has_left(device, taken)) return std::nullopt;
  void* at = reserve(taken);
  if (!at) return std::nullopt;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (counts) take(device, taken);
  if (small) {
    pages_[{device, address}].free[address] = taken;
    const std::optional<Block> block = carve(asked, device);
    blocks_[block->address] = *block;
    return block;
  }
  const Block block{address, bytes, taken, place, device};
  blocks_[address] = block;
  if (place == Place::kPinned) hold_what_the_host_writes(at, bytes);
  return block;
}

bool Memory::add(void* address, std::size_t bytes, int device) {
  const std::lock_guard guard(lock_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto after = blocks_.lower_bound(begin);
  if (after != blocks_.end() && after->first < begin + bytes) return false;
  blocks_[begin] = {begin, bytes, 0, Place::kRegistered, device};
  hold_what_the_host_writes(address, bytes);
  return true;
}

std::optional<Block> Memory::free(void* address) {
  const std::lock_guard guard(lock_);
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return std::nullopt;
  const Block block = found->second;
  blocks_.erase(found);
  forget(address, std::max(block.bytes, block.taken));
  if (block.place == Place::kMapped) part(block);
  if (block.place == Place::kRegistered || block.place == Place::kMapped) return block;
  if (block.taken > 0) {
    unmap_shared(address);
    ::munmap(address, block.taken);
    if (block.place != Place::kPinned) levels_[block.device].used -= block.taken;
    return block;
  }
  // Back into its page; a page that is empty goes back to the device.
  const auto page = std::prev(pages_.upper_bound({block.device, block.address}));
  auto& free = page->second.free;
  auto own = free.emplace(block.address, block.bytes).first;
  if (const auto next = std::next(own);
      next != free.end() && next->first == own->first + own->second) {
    own->second += next->second;
    free.erase(next);
  }
  if (own != free.begin()) {
    const auto before = std::prev(own);
    if (before->first + before->second == own->first) {
      before->second += own->second;
      free.erase(own);
      own = before;
    }
  }
  if (own->second < kPage) return block;
  void* const whole = reinterpret_cast<void*>(page->first.second);
  unmap_shared(whole);
  ::munmap(whole, kPage);
  levels_[block.device].used -= kPage;
  pages_.erase(page);
  return block;
}

std::optional<Block> Memory::find(const void* address) const {
  const std::lock_guard guard(lock_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  if (at >= block.address + std::max<std::size_t>(1, block.bytes)) return std::nullopt;
  return block;
}

std::size_t Memory::left(const void* address) const {
  const std::optional<Block> block = find(address);
  if (!block) return 0;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (block->place != Place::kMapped) return block->address + block->bytes - at;
  const std::lock_guard guard(lock_);
  const auto after = spans_.upper_bound(at);
  return after == spans_.begin() ? 0 : std::prev(after)->second.end - at;
}

void Memory::tell_used(int device) {
  Record record;
  record.act = Act::kHolds;
  record.device = static_cast<std::uint16_t>(device);
  {
    const std::lock_guard guard(lock_);
    Level& level = levels_[device];
    if (level.told == level.used) return;
    record.word[0] = level.told = level.used;
  }
  Link::get().say(record);
}

std::size_t Memory::used(int device) const {
  const std::lock_guard guard(lock_);
  const auto found = levels_.find(device);
  return found == levels_.end() ? 0 : found->second.used;
}

}  // namespace flopcast::live
