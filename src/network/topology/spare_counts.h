// An array of zeros, as long as there are links, that is kept from one use to the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace flopcast::network {

/// Thread-safe: whoever comes while it is in use makes one of his own.
class SpareCounts {
 public:
  using Counts = std::vector<std::uint32_t>;

  SpareCounts() = default;
  SpareCounts(const SpareCounts&) = delete;
  SpareCounts& operator=(const SpareCounts&) = delete;
  ~SpareCounts() { delete spare_.load(); }

  /// All 0.
  std::unique_ptr<Counts> take(std::size_t size) {
    std::unique_ptr<Counts> counts(spare_.exchange(nullptr));
    return counts ? std::move(counts) : std::make_unique<Counts>(size);
  }
  /// @param counts all 0 again.
  void give_back(std::unique_ptr<Counts> counts) { delete spare_.exchange(counts.release()); }

 private:
  std::atomic<Counts*> spare_ = nullptr;
};

}  // namespace flopcast::network
