// Where tests find data: tests/data, which every clone has, and ../shared, which few have.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace flopcast::test {

/// A file of tests/data: published measurements, see the README there.
inline std::filesystem::path data_path(const std::string& name) {
  return (std::filesystem::path(__FILE__).parent_path() / "../data" / name).lexically_normal();
}

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

}  // namespace flopcast::test

/// Inside a test: `variable` becomes the path of the shared file, or the test is skipped. Only for
/// what holds in every clone as well, by a test on tests/data or on traces that are made up.
#define FLOPCAST_SHARED_OR_SKIP(variable, relative)                               \
  const std::filesystem::path variable = ::flopcast::test::shared_path(relative); \
  if (variable.empty())                                                           \
  GTEST_SKIP() << "more of the same on recorded data, which is not here: " << (relative)
