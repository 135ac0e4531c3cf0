// Which files are traces, which rank a name speaks of, and which files are one run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::trace {

enum class FileKind : std::uint8_t {
  kTrace,      ///< has an event array, or may have one further on
  kExecution,  ///< a PyTorch execution trace
  kOther,      ///< anything else
};
/// Told by the first bytes; a file that cannot be opened is kTrace, so that reading it tells why.
FileKind kind_of_file(const std::filesystem::path& path);

/// The number behind the last "rank" of a file name: kineto_rank12.json.gz → 12.
std::optional<std::int32_t> rank_in_name(std::string_view file_name);

/// Name of the run a file belongs to: its name without ending and rank; empty if the name is
/// nothing but a rank. A name without rank stands for itself.
std::string run_of_name(std::string_view file_name);

using Runs = std::map<std::string, std::vector<std::filesystem::path>>;

/// The traces of a directory, by run, and what lies beside them.
struct DirectoryListing {
  Runs runs;
  std::uint64_t execution_traces = 0;
  std::vector<Diagnostic> unreadable;  ///< named like traces but empty or something else
};
Result<DirectoryListing> list_directory(const std::filesystem::path& directory);

}  // namespace flopcast::trace
