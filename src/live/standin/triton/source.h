// The program of a binary that Triton's compiler made: it leaves both beside each other in its cache.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "live/standin/triton/program.h"

namespace flopcast::live::triton {

/// An integer that a program found in memory; none where nobody had computed it.
struct FoundInteger {
  std::int64_t address = 0;
  std::size_t bytes = 0;
  std::optional<std::int64_t> value;

  bool operator==(const FoundInteger&) const = default;
  auto operator<=>(const FoundInteger&) const = default;
};
/// What was told of a launch.
struct Told {
  std::string signature;
  bool all_writes = false;           ///< everything that it writes to is among `writes`
  std::vector<std::int64_t> writes;  ///< addresses that it reckons from
  std::uint64_t most_elements = 0;   ///< that it reads or writes by one pointer
  std::vector<FoundInteger> found;   ///< it holds as long as these are there, each once
};
/// A kernel that is loaded.
struct Kernel {
  Program program;
  int blocks = 1;  ///< of the grid that do one program together (num_ctas)
  mutable std::mutex lock;
  /// Of launches by their arguments: what was told for different contents of memory, the latest last.
  mutable std::unordered_map<std::string, std::vector<std::shared_ptr<const Told>>> told;
  mutable std::atomic<int> given_up = 0;  ///< launches that took more steps than are executed
};

/// Looks where Triton and PyTorch's compiler keep what they made: TRITON_CACHE_DIR, the default folder, Inductor's. The one
/// whose binary has these bytes counts. None where there is none, or its program is not of a form that is known.
/// @param binary the whole of it. @param file where it was loaded from, if it was loaded from a file
std::shared_ptr<const Kernel> find_kernel(const std::string& name, std::string_view binary,
                                          const std::filesystem::path& file = {});

}  // namespace flopcast::live::triton
