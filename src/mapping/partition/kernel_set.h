// Floor 5: a set of kernels of one graph, as bits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace flopcast::mapping {

inline constexpr std::size_t kMostKernels = 256;

/// At most kMostKernels kernels; all operations are on whole words.
struct KernelSet {
  static constexpr std::size_t kWords = kMostKernels / 64;
  std::array<std::uint64_t, kWords> words{};

  static KernelSet of(std::size_t kernel) {
    KernelSet set;
    set.add(kernel);
    return set;
  }
  bool has(std::size_t kernel) const { return (words[kernel / 64] >> (kernel % 64) & 1) != 0; }
  void add(std::size_t kernel) { words[kernel / 64] |= std::uint64_t{1} << (kernel % 64); }
  bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  std::size_t size() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  bool operator==(const KernelSet&) const = default;

  /// Elements of both, of either, of this but not the other.
  KernelSet operator&(const KernelSet& o) const {
    return {{words[0] & o.words[0], words[1] & o.words[1], words[2] & o.words[2],
             words[3] & o.words[3]}};
  }
  KernelSet operator|(const KernelSet& o) const {
    return {{words[0] | o.words[0], words[1] | o.words[1], words[2] | o.words[2],
             words[3] | o.words[3]}};
  }
  KernelSet operator-(const KernelSet& o) const {
    return {{words[0] & ~o.words[0], words[1] & ~o.words[1], words[2] & ~o.words[2],
             words[3] & ~o.words[3]}};
  }
  bool within(const KernelSet& o) const { return (*this - o).empty(); }
  bool meets(const KernelSet& o) const { return !(*this & o).empty(); }

  template <typename Visit>
  void each(Visit&& visit) const {
    for (std::size_t w = 0; w < kWords; ++w) {
      for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }
};

struct KernelSetHash {
  std::size_t operator()(const KernelSet& set) const {
    std::uint64_t hash = 0x9E3779B97F4A7C15u;
    for (const std::uint64_t word : set.words) {
      hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace flopcast::mapping
