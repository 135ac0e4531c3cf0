// Which bytes of device memory are what a GPU would have there. Valid bytes were copied there, set, or computed by an
// operator that was executed; all others are tainted: fresh memory, and what kernels wrote that nobody ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "live/standin/values/shared_bits.h"

namespace flopcast::live {

/// Valid ranges of addresses; what is in none of them is tainted. Safe in any thread.
class Validity {
 public:
  /// More ranges than this are not kept apart: what would make another one is tainted instead.
  static constexpr std::size_t kMostRanges = std::size_t{1} << 20;

  /// That of this process.
  static Validity& get();
  explicit Validity(std::size_t most_ranges = kMostRanges) : most_(most_ranges) {}

  void mark_valid(const void* at, std::size_t bytes);
  void taint(const void* at, std::size_t bytes);
  /// The valid stretch that this byte lies in, from it on.
  void taint_from(const void* at);
  /// Whether all of these bytes are valid; no bytes are.
  bool valid(const void* at, std::size_t bytes) const;
  /// `to` is from now on what `from` is, byte for byte. They may overlap.
  void carry(const void* to, const void* from, std::size_t bytes);
  /// Calls visit(offset, bytes) for every valid stretch in it, in order.
  template <typename Visit>
  void each_valid(const void* at, std::size_t bytes, Visit&& visit) const {
    const std::lock_guard guard(lock_);
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    const std::uintptr_t end = begin + bytes;
    if (const SharedBits* const bits = shared(begin, end)) {
      for (std::uintptr_t from = bits->find(begin, end, true); from < end;) {
        const std::uintptr_t until = bits->find(from, end, false);
        visit(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(until - from));
        from = bits->find(until, end, true);
      }
      return;
    }
    for (auto range = first_behind(begin); range != ranges_.end() && range->first < end; ++range) {
      const std::uintptr_t from = range->first < begin ? begin : range->first;
      const std::uintptr_t until = range->second < end ? range->second : end;
      visit(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(until - from));
    }
  }
  std::size_t ranges() const;

  /// Of these bytes, bits say from now on which are valid; they begin with what is known of them, if `told`, else
  /// they are others' already.
  void share(const SharedBits& bits, bool told);
  /// The memory is gone; others may still have theirs. @return its bits, which are nobody's here
  SharedBits unshare(const void* begin);

 private:
  using Ranges = std::map<std::uintptr_t, std::uintptr_t>;  ///< begin, end; no two touch
  /// The first range that ends behind this address.
  Ranges::const_iterator first_behind(std::uintptr_t at) const;
  void add(std::uintptr_t begin, std::uintptr_t end);
  void cut(std::uintptr_t begin, std::uintptr_t end);
  const SharedBits* shared(std::uintptr_t begin, std::uintptr_t end) const;

  mutable std::mutex lock_;
  Ranges ranges_;
  std::vector<SharedBits> shared_;  ///< few: memory that a program hands to other processes
  std::size_t most_;
};

}  // namespace flopcast::live
