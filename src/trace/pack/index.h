// What lies where in a pack, and what its files say besides rows.
//
// A pack is the magic, the version, blocks of every file, the index, and a tail that tells where the
// index is. Blocks are in the order of the files' names, and within a file in the order of its rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

/// "FCPACK" and two bytes that a copy as text would change.
inline constexpr std::string_view kPackMagic{"FCPACK\r\n", 8};
inline constexpr std::uint32_t kPackVersion = 1;
inline constexpr std::size_t kPackHeadBytes = 12;  ///< magic, version
inline constexpr std::size_t kPackTailBytes = 24;  ///< place of the index, its size, magic

/// One block of a file.
struct BlockPlace {
  std::uint64_t offset = 0;  ///< of its first byte in the pack
  std::uint64_t bytes = 0;
  std::uint64_t rows = 0;
  bool python = false;  ///< rows of Python functions, which most readers pass over
  bool always = false;  ///< names of threads, begins without ends, ends: needed whatever is read
  /// First start and last end, on the file's clock.
  std::int64_t first_ns = 0, last_ns = 0;
  /// Of launches and GPU rows: which of their partners may be here. Empty where first > last.
  std::int64_t first_correlation = 0, last_correlation = -1;
};

/// A row of a training step: "ProfilerStep#12".
struct StepPlace {
  std::string name;
  std::int64_t start_ns = 0, duration_ns = 0;
};

/// A file of a pack.
struct PackMember {
  std::string name;  ///< the file's, without folders
  RawTrace facts;    ///< all but rows
  RawTrace python;   ///< counts, oddities and clock step of the rows of Python functions
  std::vector<BlockPlace> blocks;
  std::vector<StepPlace> steps;
};

struct PackIndex {
  std::string label;  ///< what the run is called
  std::vector<PackMember> members;
};

std::string packed_index(const PackIndex& index);
/// Nothing where the bytes are no index.
std::optional<PackIndex> unpacked_index(std::string_view bytes);

/// The first bytes of a pack, and its last ones.
std::string pack_head();
std::string pack_tail(std::uint64_t index_offset, std::uint64_t index_bytes);
/// A little-endian number.
std::uint64_t number_at(std::string_view bytes, std::size_t offset, std::size_t width);

}  // namespace flopcast::trace
