// Durations of a run, made longer or shorter.
#pragma once

#include "base/numeric/clock.h"
#include "flopcast/replay/assembly.h"

namespace flopcast::whatif {

/// k times as long, as long as the clock at most; the very same for k = 1.
inline Time stretched(Time time, double k) {
  if (k == 1) return time;
  return rounded_ps(static_cast<double>(time.ps) * k);
}

/// A GPU task's whole time. Of a task in a collective the time after the last arrival is meant:
/// its whole time is made of waiting.
inline void set_gpu_time(replaying::Durations::Rank& durations, const replaying::GpuTask& task,
                         std::uint32_t index, Time time) {
  durations.transfer[index] = time;
  if (task.collective == replaying::kNoIndex) durations.gpu[index] = time;
}
/// What set_gpu_time sets.
inline Time gpu_time(const replaying::Durations::Rank& durations, std::uint32_t index) {
  return durations.transfer[index];
}

/// All a rank's host does: pieces, what lies between them, and the host's part of what follows a
/// wait.
void stretch_host(const replaying::Recording& recording, std::uint32_t rank, double k,
                  replaying::Durations& durations);

/// All that a rank does, on the host and on the GPU, waiting left out.
Time work_of_rank(const replaying::Recording& recording, std::uint32_t rank,
                  const replaying::Durations& durations);

}  // namespace flopcast::whatif
