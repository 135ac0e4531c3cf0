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
  kOperator,
  kOutside,
  kLaunchLatency,
  kWake
};
inline constexpr std::size_t kHostCosts = 13;  ///< how many HostCost there are
std::string_view name(HostCost cost);          ///< "launch", "operator", ...
std::string_view meaning(HostCost cost);       ///< in words

/// Nanoseconds by HostCost.
struct HostTable {
  /// Factor that forecasts of host time are off by, either way, on machines that it was not fitted to; 0: not known.
  double spread = 0;
  std::array<double, kHostCosts> ns{};                                           ///< of one
  double at(HostCost cost) const { return ns[static_cast<std::size_t>(cost)]; }  ///< of one

  /// That of catalog/live/host.toml.
  static HostTable builtin();
  /// What toml() writes. Errors: no TOML, a cost that is not known or missing, a number that cannot be one, a spread below
  /// one.
  static Result<HostTable> parse(std::string_view text, const std::string& where);
  /// @param source what was measured
  std::string toml(std::string_view source) const;
};

/// Runs of one machine and one script, which are left out together.
struct HostRecording {
  std::string source;          ///< for people
  std::vector<TraceSet> runs;  ///< all ranks of each
};

/// One run: how long its threads that launch kernels were busy on the host. Longer stretches without an operator or a
/// call than a tenth of a millisecond are left out (waits, data loading), and so is what the recording itself took.
struct HostError {
  std::string source;           ///< recording, and run where it has several
  std::uint64_t operators = 0;  ///< rows of operators, those within others included
  double measured_s = 0;        ///< operators, what lies between them, and calls
  double forecast_s = 0;        ///< of the same by a table fitted to all other recordings
  double profiler_s = 0;        ///< taken off: what the profiler took for its rows
};

/// A table, and how far off its like are where they were not fitted.
struct HostFit {
  HostTable table;                ///< fitted to all recordings
  std::vector<HostError> errors;  ///< one a run, in the order of recordings
  double spread =
      1;  ///< forecasts are off by this factor, as root mean square of the logarithms; recordings count alike
};

/// A call's cost is the median over the recordings of its median there. Those of operators and of launches outside of them
/// bring all recordings nearest to what they took, each as a factor; where recordings do not tell the two apart their ratio
/// is that of the built-in table. What no recording has keeps the built-in number. Errors: no recording has a call that
/// launches a kernel.
Result<HostFit> fit_host(std::span<const HostRecording> recordings);

}  // namespace flopcast
