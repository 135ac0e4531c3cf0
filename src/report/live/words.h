// What text and JSON of a live run share.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/live.h"

namespace flopcast::report {

/// Parts of a GPU's time: the JSON field, what people read, and which.
struct TimePart {
  const char* field;
  const char* title;
  Time LiveTimes::*time;
};
inline constexpr std::array<TimePart, 6> kTimeParts = {{
    {"exposed_compute", "compute", &LiveTimes::exposed_compute},
    {"exposed_communication", "exposed communication", &LiveTimes::exposed_communication},
    {"overlapped", "communication beside compute", &LiveTimes::overlapped},
    {"copies", "copies", &LiveTimes::copies},
    {"host_bound", "waiting for the host", &LiveTimes::host_bound},
    {"idle", "idle", &LiveTimes::idle},
}};

/// Of one GPU, the mean of all. Their sum may be longer than a Time can be.
LiveTimes mean_times(const std::vector<LiveRank>& ranks);
/// Of all GPUs: what each step took.
std::vector<Time> step_times(const LiveRank& rank);

/// Of a run that was captured: where it ran, and what that leaves open here. Empty of any other.
std::string resolved_lines(const LiveReport& r);

/// All kernels whose work is not known.
struct UnknownWork {
  std::uint64_t kernels = 0, bytes = 0;
  std::uint64_t unbounded = 0;  ///< of the kernels: what they can reach is not known either
  Time time, floor;             ///< as of LiveUnknown
  double share = 0;             ///< of the GPUs' time that they would be if they took `floor`
};
UnknownWork unknown_work(const LiveReport& r);
/// Of what LiveReport::coverage has for those.
inline constexpr std::string_view kUnknownBasis = "unknown";
/// Of each of LiveReport::coverage, of the time of all kernels, if those of unknown work took their floor.
std::vector<double> shares(const LiveReport& r);

}  // namespace flopcast::report
