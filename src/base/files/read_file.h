// A small file as one text: configurations, tables, catalogues. What may be large is read in pieces,
// see byte_source.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// The most bytes that are held as one text: a stream without end is no reason to fill the memory.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

/// All bytes of a file, of standard input where it is "-". @param hint what to do if it cannot be read
Result<std::string> read_file(const std::filesystem::path& path,
                              std::string_view hint = "check the path and its permissions");

/// What is said of a file of more than kMostTextBytes.
Diagnostic too_much_text(const std::filesystem::path& path);

}  // namespace flopcast
