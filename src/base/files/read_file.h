// A small file as one text: configurations, tables, catalogues. What may be large is read in pieces,
// see byte_source.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// All bytes of a file. @param hint what to do if it cannot be read
Result<std::string> read_file(const std::filesystem::path& path,
                              std::string_view hint = "check the path and its permissions");

}  // namespace flopcast
