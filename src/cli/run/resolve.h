// A captured run on several clusters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "flopcast/report/live.h"

namespace flopcast::cli {

/// A row a cluster; what is wrong with one (too little memory, ranks that would wait for ever) stands in its row. Errors:
/// all that is wrong with the file, or with the name of a cluster.
/// @param operators as of ResolveRequest
Result<std::vector<ResolvedRow>> resolved_rows(const std::filesystem::path& capture,
                                               const std::vector<std::string>& clusters,
                                               const std::filesystem::path& operators);

}  // namespace flopcast::cli
