#include "cli/terminal/folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flopcast::cli {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> files_of(const fs::path& path,
                                       std::span<const std::string_view> endings) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return std::vector{path};
  std::vector<fs::path> files;
  for (auto entry = fs::directory_iterator(path, failed); !failed && entry != fs::end(entry);
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    const bool wanted = std::ranges::any_of(
        endings, [&](std::string_view ending) { return name.ends_with(ending); });
    std::error_code ignored;
    if (wanted && entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  if (failed) {
    return Diagnostic{ErrorCode::kBadInput, path.string(), "cannot be read: " + failed.message(),
                      "check its permissions"};
  }
  std::ranges::sort(files);
  if (!files.empty()) return files;
  return Diagnostic{ErrorCode::kBadInput, path.string(), "is a folder without a file to read",
                    fmt::format("files end in {}", fmt::join(endings, ", "))};
}

Result<std::vector<fs::path>> files_of(std::span<const fs::path> paths,
                                       std::span<const std::string_view> endings) {
  std::vector<fs::path> all;
  for (const fs::path& path : paths) {
    Result<std::vector<fs::path>> files = files_of(path, endings);
    if (!files) return files;
    all.insert(all.end(), files->begin(), files->end());
  }
  return all;
}

}  // namespace flopcast::cli
