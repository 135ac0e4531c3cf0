#include "live/standin/values/movement.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "live/standin/values/inside.h"
#include "live/standin/values/late.h"
#include "live/standin/values/settings.h"
#include "live/standin/values/tainted_reads.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// Pages of the host that nobody has touched are zero, and stay untouched: whoever saves a model of 100 GB reads it back.
void make_zero(char* at, std::size_t bytes) {
  constexpr std::size_t kPagesAtOnce = 1024;
  if (bytes <= kMovedBytes) {
    std::memset(at, 0, bytes);
    return;
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  char* const end = at + bytes;
  while (at < end) {
    char* const begin = at - reinterpret_cast<std::uintptr_t>(at) % page;
    const auto left = static_cast<std::size_t>(end - begin);
    const std::size_t pages = std::min(kPagesAtOnce, (left + page - 1) / page);
    unsigned char there[kPagesAtOnce];
    const bool known = ::mincore(begin, pages * page, there) == 0;
    for (std::size_t i = 0; i < pages; ++i) {
      char* const until = std::min(end, begin + (i + 1) * page);
      if (!known || (there[i] & 1) != 0) std::memset(at, 0, static_cast<std::size_t>(until - at));
      at = until;
    }
  }
}

std::size_t most_moved() {
  return std::max(kMovedBytes,
                  static_cast<std::size_t>(value_settings().elements) * sizeof(std::uint64_t));
}

}  // namespace

void move_in(void* to, const void* from, std::size_t bytes) {
  if (!values_move()) return;
  overwrite_bytes(to, bytes);
  if (bytes > most_moved()) return Validity::get().taint(to, bytes);
  std::memmove(to, from, bytes);
  Validity::get().mark_valid(to, bytes);
}

void move_within(void* to, const void* from, std::size_t bytes) {
  if (!values_move()) return;
  settle_bytes(from, bytes);
  overwrite_bytes(to, bytes);
  Validity& validity = Validity::get();
  auto* const target = static_cast<char*>(to);
  const auto* const source = static_cast<const char*>(from);
  if (validity.valid(from, bytes)) {
    std::memmove(to, from, bytes);
  } else {
    validity.each_valid(from, bytes, [&](std::size_t offset, std::size_t some) {
      std::memmove(target + offset, source + offset, some);
    });
  }
  validity.carry(to, from, bytes);
}

void read_back(void* to, const void* from, std::size_t bytes) {
  auto* const target = static_cast<char*>(to);
  if (!values_move()) {
    fall_short();
    return make_zero(target, bytes);
  }
  settle_bytes(from, bytes);
  Validity& validity = Validity::get();
  if (validity.valid(from, bytes)) {
    std::memmove(to, from, bytes);
    return;
  }
  const NumbersRead numbers = numbers_read();
  const auto make_up = [&](std::size_t at, std::size_t some) {
    make_zero(target + at, some);
    if (numbers.width * numbers.count != bytes || numbers.bits == 0) return;
    for (std::size_t i = 0; i + numbers.width <= some; i += numbers.width)
      std::memcpy(target + at + i, &numbers.bits, numbers.width);
  };
  std::size_t done = 0, valid = 0;
  validity.each_valid(from, bytes, [&](std::size_t offset, std::size_t some) {
    make_up(done, offset - done);
    std::memmove(target + offset, static_cast<const char*>(from) + offset, some);
    done = offset + some;
    valid += some;
  });
  make_up(done, bytes - done);
  count_tainted_read(bytes - valid);
}

void fill(void* to, std::uint32_t value, std::size_t width, std::size_t count) {
  if (!values_move()) return;
  const std::size_t bytes = width * count;
  overwrite_bytes(to, bytes);
  if (bytes > most_moved()) return Validity::get().taint(to, bytes);
  auto* const at = static_cast<char*>(to);
  if (width == 1) {
    std::memset(to, static_cast<int>(value), bytes);
  } else {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(at + i * width, &value, width);
  }
  Validity::get().mark_valid(to, bytes);
}

void hold_what_the_host_writes(const void* at, std::size_t bytes) {
  Validity::get().mark_valid(at, bytes);
}

void forget(const void* at, std::size_t bytes) {
  overwrite_bytes(at, bytes);
  Validity::get().taint(at, bytes);
}

}  // namespace flopcast::live
