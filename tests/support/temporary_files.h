// Files for tests: temporary folders, and the real traces that lie beside the repository on some
// machines.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace flopcast {

/// The folder of real traces: $FLOPCAST_SHARED/traces, or ../shared/traces beside the repository.
inline std::optional<std::filesystem::path> real_traces() {
  const char* shared = std::getenv("FLOPCAST_SHARED");
  const auto beside = std::filesystem::path(__FILE__).parent_path() / "../../../shared";
  const auto folder = (shared != nullptr ? std::filesystem::path(shared) : beside) / "traces";
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder.lexically_normal();
}
inline constexpr const char* kNoRealTraces =
    "no real traces: set FLOPCAST_SHARED or put them in ../shared";

/// A folder that disappears with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "flopcast_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    return path;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace flopcast
