// Floor 5: what a training script costs the host, call by call; fitted to recordings of PyTorch's profiler.
//
//   const Result<HostFit> fit = fit_host(recordings);
//   write_file("host.toml", fit->table.toml("my machine"));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/trace.h"

namespace flopcast {

/// What takes the host time.
enum class HostCost : std::uint8_t {
  kLaunch,
  kCopy,
  kFill,
  kRecordEvent,
  kWaitEvent,
  kSynchronize,
  kQuery,
  kAllocate,
  kFree,
  kForwardOperator,
  kBackwardOperator,
  kCollective,
  kLaunchLatency,
  kWake
};
inline constexpr std::size_t kHostCosts = 14;  ///< how many HostCost there are
std::string_view name(HostCost cost);          ///< "launch", "forward_operator", ...
std::string_view meaning(HostCost cost);       ///< in words

/// Nanoseconds by HostCost.
struct HostTable {
  std::array<double, kHostCosts> ns{};                                           ///< of one
  double at(HostCost cost) const { return ns[static_cast<std::size_t>(cost)]; }  ///< of one

  /// That of catalog/live/host.toml.
  static HostTable builtin();
  /// What toml() writes. Errors: no TOML, a cost that is not known or missing, a number that cannot be one.
  static Result<HostTable> parse(std::string_view text, const std::string& where);
  /// @param source what was measured
  std::string toml(std::string_view source) const;
};

/// Runs of one machine and one script, which are left out together.
struct HostRecording {
  std::string source;          ///< for people
  std::vector<TraceSet> runs;  ///< all ranks of each
};

/// Of one recording: how long its operators and their calls take where each operator takes as long as the quickest
/// quarter of its kind: what the profiler adds, data loading and waits for other threads are above that.
struct HostError {
  std::string source;           ///< of the recording
  std::uint64_t operators = 0;  ///< that launched something
  double measured_s = 0;        ///< as above
  double forecast_s = 0;        ///< by a table fitted to all other recordings
  double left_out = 0;          ///< share of the recorded busy time that is above `measured_s`
};

/// A table, and how far off its like are where they were not fitted.
struct HostFit {
  HostTable table;
  std::vector<HostError> errors;  ///< one a recording, in their order
};

/// Each cost is the median over the recordings of what it typically was there, so that none counts more for being longer. What no
/// recording has keeps the built-in table's number. Errors: no recording has a host call.
Result<HostFit> fit_host(std::span<const HostRecording> recordings);

}  // namespace flopcast
