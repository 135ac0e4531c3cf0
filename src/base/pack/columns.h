// Numbers of a column as bytes: planes of equal significance, which pack well and are read in loops
// without branches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast {

enum class Coding : std::uint8_t {
  kPlain,  ///< as they are
  kDelta,  ///< each as its distance from the one before
};

/// The most numbers of a column that are read: what a few bytes can claim is bounded by it.
inline constexpr std::size_t kMostNumbers = std::size_t{1} << 17;

/// Small for numbers near zero on both sides.
constexpr std::uint64_t zigzag(std::uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }
constexpr std::uint64_t unzigzag(std::uint64_t code) { return (code >> 1) ^ (0 - (code & 1)); }

/// Count, width in bytes of the largest, then the lowest bytes of all, the second lowest of all, ...
/// `values` is used up.
std::string packed_column(std::vector<std::uint64_t>& values, Coding coding);
/// Nothing where the bytes are no column.
std::optional<std::vector<std::uint64_t>> unpacked_column(std::string_view bytes, Coding coding);

/// A zstd frame with a checksum.
std::string compressed(std::string_view bytes);
/// What a frame holds; nothing if it is damaged or holds more than `most` bytes.
std::optional<std::string> decompressed(std::string_view frame, std::size_t most);

}  // namespace flopcast
