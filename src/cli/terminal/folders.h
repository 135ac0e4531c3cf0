// A folder wherever a file of measurements is taken: all such files that lie in it.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::cli {

/// The path itself where it is no folder; else the files of these endings in it, by name. Errors: a folder without one, or one
/// that cannot be read.
Result<std::vector<std::filesystem::path>> files_of(const std::filesystem::path& path,
                                                    std::span<const std::string_view> endings);
/// The same of several.
Result<std::vector<std::filesystem::path>> files_of(std::span<const std::filesystem::path> paths,
                                                    std::span<const std::string_view> endings);

}  // namespace flopcast::cli
