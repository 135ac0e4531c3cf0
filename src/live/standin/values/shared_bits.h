// Which bytes are valid of memory that several processes share: a bit each, in memory that they share as well.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace flopcast::live {

/// The bits of the memory [begin, end) of this process. Threads of all processes may use them at once.
struct SharedBits {
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::size_t kBitsOfWord = 64;

  std::uintptr_t begin = 0, end = 0;
  Word* words = nullptr;  ///< null: nothing of it is ever valid

  bool contains(std::uintptr_t from, std::uintptr_t until) const {
    return from >= begin && until <= end;
  }

  void set(std::uintptr_t from, std::uintptr_t until, bool valid) const {
    for_each_word(from, until, [valid](Word& word, std::uint64_t mask) {
      // A look first: words that nobody has written take no memory.
      const std::uint64_t seen = word.load(std::memory_order_acquire);
      if (valid && (seen & mask) != mask) word.fetch_or(mask, std::memory_order_release);
      if (!valid && (seen & mask) != 0) word.fetch_and(~mask, std::memory_order_release);
      return true;
    });
  }

  /// The first byte of [from, until) that is valid, or is not; `until` if there is none.
  std::uintptr_t find(std::uintptr_t from, std::uintptr_t until, bool valid) const {
    if (!words) return valid ? until : from;
    std::uintptr_t found = until;
    for_each_word(from, until, [&](Word& word, std::uint64_t mask) {
      const std::uint64_t seen = word.load(std::memory_order_acquire);
      const std::uint64_t wanted = (valid ? seen : ~seen) & mask;
      if (wanted == 0) return true;
      const auto index = static_cast<std::size_t>(&word - words);
      found = begin + index * kBitsOfWord + static_cast<std::size_t>(std::countr_zero(wanted));
      return false;
    });
    return found;
  }

 private:
  /// Visits words with a mask of the bits meant, until one says that it is enough.
  template <typename Visit>
  void for_each_word(std::uintptr_t from, std::uintptr_t until, Visit&& visit) const {
    if (!words) return;
    for (std::size_t at = from - begin; at < until - begin;) {
      const std::size_t bit = at % kBitsOfWord;
      const std::size_t count = std::min(kBitsOfWord - bit, until - begin - at);
      const std::uint64_t ones =
          count == kBitsOfWord ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      if (!visit(words[at / kBitsOfWord], ones << bit)) return;
      at += count;
    }
  }
};

}  // namespace flopcast::live
