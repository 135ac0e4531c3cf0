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

#include "live/standin/triton/count.h"
#include "live/standin/triton/program.h"

namespace flopcast::live::triton {

/// What is told of a launch.
struct Told {
  std::string signature;
  bool all_writes = false;           ///< everything that it writes to is among `writes`
  std::vector<std::int64_t> writes;  ///< addresses that it reckons from
  std::uint64_t most_elements = 0;   ///< that it reads or writes by one pointer
};
/// From where a parameter points to, or an address.
struct Place {
  int parameter = -1;  ///< -1: an address
  std::int64_t offset = 0;
  auto operator<=>(const Place&) const = default;
};
/// What a program was told of memory: an integer there, none where nobody had computed it; or how many bytes there are.
struct Found {
  Place at;
  std::uint64_t bytes = 0;  ///< of the integer; that were asked for
  bool room = false;        ///< whether it is that
  std::optional<std::int64_t> value;
  auto operator<=>(const Found&) const = default;
};
/// A launch that was followed, for others that differ in where their tensors lie.
struct Followed {
  LaunchWork work;
  std::vector<Place> writes;
  std::vector<Found> found;  ///< each once
};
/// A kernel that is loaded.
struct Kernel {
  Program program;
  int blocks = 1;  ///< of the grid that do one program together (num_ctas)
  mutable std::mutex lock;
  bool tells_addresses = false;  ///< it makes numbers of addresses, or addresses of numbers
  /// Launches by their arguments, those that found other things in memory one by one, the latest last.
  mutable std::unordered_map<std::string, std::vector<std::shared_ptr<const Followed>>> followed;
  mutable std::atomic<int> given_up = 0;  ///< launches that took more steps than are executed
};

/// Looks where Triton and PyTorch's compiler keep what they made: TRITON_CACHE_DIR, the default folder, Inductor's. The one
/// whose binary has these bytes counts. None where there is none, or its program is not of a form that is known.
/// @param binary the whole of it. @param file where it was loaded from, if it was loaded from a file
std::shared_ptr<const Kernel> find_kernel(const std::string& name, std::string_view binary,
                                          const std::filesystem::path& file = {});

}  // namespace flopcast::live::triton
