// Rows of a trace as a block of bytes that needs nothing beside it: its own texts and tracks, columns,
// one zstd frame with a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

/// Rows of a block as they are written: more pack better, fewer are nearer to a window of time.
inline constexpr std::size_t kRowsOfBlock = std::size_t{1} << 16;
/// A block ends as well where this many bytes of JSON went into it.
inline constexpr std::uint64_t kTextOfBlock = std::uint64_t{1} << 26;

/// What of `raw` comes row by row: events with their tables, flows, names, open rows and ends, and the
/// texts and tracks they use. What counts for the whole file is not in it.
std::string packed_block(const RawTrace& raw);
/// Nothing where the bytes are no block, or one whose parts do not fit together.
std::optional<RawTrace> unpacked_block(std::string_view bytes);

}  // namespace flopcast::trace
