// Where tests find recorded traces, and where they may write.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace flopcast::test {

/// A file or folder of ../shared (or $FLOPCAST_SHARED); an empty path where that is absent.
inline std::filesystem::path shared_path(const std::string& relative) {
  const char* named = std::getenv("FLOPCAST_SHARED");
  const std::filesystem::path root =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(__FILE__).parent_path() / "../../../shared";
  const std::filesystem::path path = root / relative;
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path : std::filesystem::path();
}

/// A folder of its own that goes with the object.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "flopcast-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace flopcast::test

/// Inside a test: `variable` becomes the path of the shared file, or the test is skipped.
#define FLOPCAST_SHARED_OR_SKIP(variable, relative)                               \
  const std::filesystem::path variable = ::flopcast::test::shared_path(relative); \
  if (variable.empty()) GTEST_SKIP() << "no recorded trace " << (relative)
