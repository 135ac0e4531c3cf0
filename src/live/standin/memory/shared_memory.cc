#include "live/standin/memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "live/standin/link/link.h"
#include "live/standin/values/late.h"
#include "live/standin/values/validity.h"
#include "live/wire/mail.h"

namespace flopcast::live {
namespace {

constexpr std::size_t kPageOfHost = 4096;
/// Of larger parts nothing is valid to other processes: they hold weights and activations.
constexpr std::size_t kMostWithBits = std::size_t{256} << 20;

std::size_t bytes_of_bits(std::size_t bytes) {
  if (bytes > kMostWithBits) return 0;
  return (bytes / 8 + kPageOfHost - 1) / kPageOfHost * kPageOfHost;
}

bool is_sound(const SharedPart& part) {
  if (part.mark == SharedPart::kMark && part.machine != Link::get().common().machines.own) {
    Link::refuse("memory of a GPU is not carried between machines",
                 "let processes that share it be on one machine");
  }
  return part.mark == SharedPart::kMark && part.place >= kSharedBegin && part.bytes > 0 &&
         part.place < kCommonFileBytes && part.bytes < kCommonFileBytes - part.place &&
         part.offset <= part.bytes && part.length <= part.bytes - part.offset;
}

void* map_file(void* at, std::uint64_t place, std::size_t bytes, int flags) {
  return ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | flags,
                Link::get().shared_file(), static_cast<off_t>(place));
}

SharedBits::Word* map_bits(const SharedPart& part) {
  const std::size_t bytes = bytes_of_bits(part.bytes);
  if (bytes == 0) return nullptr;
  void* const at = map_file(nullptr, part.place, bytes, 0);
  return at == MAP_FAILED ? nullptr : static_cast<SharedBits::Word*>(at);
}

std::optional<SharedPart> new_part(std::size_t bytes, int device) {
  const std::uint64_t taken = bytes_of_bits(bytes) + bytes;
  const std::uint64_t place = Link::get().shared().shared.fetch_add(taken);
  if (place > kSharedBytes - taken) return std::nullopt;
  const char* const rank = std::getenv("RANK");
  return SharedPart{SharedPart::kMark,
                    kSharedBegin + place,
                    bytes,
                    0,
                    bytes,
                    ::getpid(),
                    device,
                    rank ? std::atoi(rank) : 0,
                    Link::get().common().machines.own};
}

/// Parts by where this process has them.
struct PartsHere {
  std::mutex lock;
  std::map<std::uintptr_t, SharedPart> parts;
  static PartsHere& get() {
    static PartsHere* const here = new PartsHere;  // memory is freed while the process ends
    return *here;
  }
};

/// @param own the bytes are there already, privately, and this process knows which are valid
bool appear(const SharedPart& part, void* address, bool own) {
  auto* const bytes = static_cast<char*>(address);
  std::vector<std::pair<std::size_t, std::vector<char>>> valid;
  if (own) {
    Validity::get().each_valid(address, part.bytes, [&](std::size_t offset, std::size_t length) {
      valid.emplace_back(offset, std::vector<char>(bytes + offset, bytes + offset + length));
    });
  }
  const std::uint64_t place = part.place + bytes_of_bits(part.bytes);
  if (map_file(address, place, part.bytes, MAP_FIXED) == MAP_FAILED) return false;
  for (const auto& [offset, some] : valid) std::memcpy(bytes + offset, some.data(), some.size());
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  {
    const std::lock_guard guard(PartsHere::get().lock);
    PartsHere::get().parts[begin] = part;
  }
  // Without bits each process knows what it has brought there itself.
  if (SharedBits::Word* const words = map_bits(part))
    Validity::get().share({begin, begin + part.bytes, words}, own);
  return true;
}

/// Parts that this process made, by where it has them.
struct OwnParts {
  std::mutex lock;
  std::map<void*, SharedPart> parts;
  static OwnParts& get() {
    static OwnParts* const own = new OwnParts;  // memory is freed while the process ends
    return *own;
  }
};

}  // namespace

std::optional<SharedPart> share_memory(void* address, std::size_t bytes, int device) {
  OwnParts& own = OwnParts::get();
  const std::lock_guard guard(own.lock);
  if (const auto known = own.parts.find(address); known != own.parts.end()) return known->second;
  settle_bytes(address, bytes);
  const std::optional<SharedPart> part = new_part(bytes, device);
  if (!part || !appear(*part, address, true)) return std::nullopt;
  own.parts.emplace(address, *part);
  return part;
}

bool map_shared(const SharedPart& part, void* address) {
  return is_sound(part) && appear(part, address, false);
}

std::optional<SharedPart> shared_part_at(const void* address) {
  PartsHere& here = PartsHere::get();
  const std::lock_guard guard(here.lock);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto after = here.parts.upper_bound(at);
  if (after == here.parts.begin()) return std::nullopt;
  const auto& [begin, part] = *std::prev(after);
  if (at - begin >= part.bytes) return std::nullopt;
  SharedPart found = part;
  found.offset = at - begin;
  return found;
}

void unmap_shared(void* address) {
  {
    const std::lock_guard guard(PartsHere::get().lock);
    PartsHere::get().parts.erase(reinterpret_cast<std::uintptr_t>(address));
  }
  const SharedBits bits = Validity::get().unshare(address);
  if (bits.words) ::munmap(bits.words, bytes_of_bits(bits.end - bits.begin));
  OwnParts& own = OwnParts::get();
  const std::lock_guard guard(own.lock);
  const auto part = own.parts.find(address);
  if (part == own.parts.end()) return;
  const std::uint64_t taken = bytes_of_bits(part->second.bytes) + part->second.bytes;
  ::fallocate(Link::get().shared_file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(part->second.place), static_cast<off_t>(taken));
  own.parts.erase(part);
}

}  // namespace flopcast::live
