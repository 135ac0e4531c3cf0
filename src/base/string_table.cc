#include <cstring>

#include "flopcast/base.h"

namespace flopcast {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kFirstSlots = 256;  // a power of two, as every later size

std::uint64_t load(const char* p, std::size_t n) {
  std::uint64_t word = 0;
  if (n > 0) std::memcpy(&word, p, n);  // the empty text may have no address
  return word;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Multiply-and-fold over 16 bytes a step, in the manner of wyhash. Not for hostile input on its
// own; the table compares whole texts, so a collision only costs time.
std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t kA = 0xa0761d6478bd642fULL, kB = 0xe7037ed1a0b428dbULL;
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t hash = n * kA;
  for (; n > 16; p += 16, n -= 16) hash = mix(load(p, 8) ^ kA, load(p + 8, 8) ^ hash);
  if (n > 8) return mix(load(p, 8) ^ kA, load(p + n - 8, 8) ^ hash ^ kB);
  return mix(load(p, n) ^ kA, hash ^ kB);
}

}  // namespace

StringTable::StringTable() : slots_(kFirstSlots, 0) { intern({}); }

std::size_t StringTable::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const std::uint32_t taken = slots_[slot];
    if (taken == 0) return slot;
    if (hashes_[taken - 1] == hash && texts_[taken - 1] == text) return slot;
  }
}

void StringTable::grow() {
  std::vector<std::uint32_t> larger(slots_.size() * 2, 0);
  const std::size_t mask = larger.size() - 1;
  for (std::size_t id = 0; id < hashes_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (larger[slot] != 0) slot = (slot + 1) & mask;
    larger[slot] = static_cast<std::uint32_t>(id + 1);
  }
  slots_ = std::move(larger);
}

std::uint32_t StringTable::intern(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  std::size_t slot = slot_of(text, hash);
  if (slots_[slot] != 0) return slots_[slot] - 1;
  if ((texts_.size() + 1) * 2 > slots_.size()) {
    grow();
    slot = slot_of(text, hash);
  }
  // The block being filled is the last one; a text too large for sharing gets one of its own in
  // front.
  char* copy = nullptr;
  if (text.size() > kBlockBytes / 4) {
    copy = blocks_.emplace_front(text.size()).data();
  } else {
    if (blocks_.empty() || blocks_.back().size() != kBlockBytes ||
        used_in_block_ + text.size() > kBlockBytes) {
      blocks_.emplace_back(kBlockBytes);
      used_in_block_ = 0;
    }
    copy = blocks_.back().data() + used_in_block_;
    used_in_block_ += text.size();
  }
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  texts_.emplace_back(copy, text.size());
  hashes_.push_back(hash);
  slots_[slot] = static_cast<std::uint32_t>(texts_.size());
  return static_cast<std::uint32_t>(texts_.size() - 1);
}

std::optional<std::uint32_t> StringTable::find(std::string_view text) const {
  const std::uint32_t taken = slots_[slot_of(text, hash_of(text))];
  if (taken == 0) return std::nullopt;
  return taken - 1;
}

}  // namespace flopcast
