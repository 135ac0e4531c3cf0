// When the rows of one GPU begin and end, in order of time: sorted once, and swept by all that ask what
// runs at which moment.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flopcast/report/replay.h"

namespace flopcast::report {

/// For every string id: is a kernel of this name communication? Decided once per set, not per row.
class KernelNames {
 public:
  explicit KernelNames(const StringTable& strings);
  bool is_communication(std::uint32_t name) const { return communication_[name]; }

 private:
  std::vector<bool> communication_;
};

/// What a GPU row is. A collective's row waits until the last rank has come, then communicates.
enum class GpuRow : std::uint8_t {
  kCompute,
  kCommunication,
  kCopy,
  kWaitingForRank,
  kWaitingForStage,
  kWaitingForHost
};
inline constexpr std::size_t kGpuRowCount = 6;
/// How long a row waits for other ranks, and for whom: the host's part is put last.
struct RowWait {
  Time all, for_host;
  bool by_plan = false;  ///< for another stage's work
};
/// Of rows of collectives.
using WaitOfRow = std::unordered_map<std::uint32_t, RowWait>;

class GpuChanges {
 public:
  struct Change {
    Time at;
    std::int32_t sms = 0;  ///< how many more SMs are asked for, where that is known
    GpuRow row = GpuRow::kCompute;
    std::int8_t rows = 0;  ///< 1 where a row begins, -1 where it ends
  };
  /// @param names null: communication is not told from computation
  GpuChanges(const KernelNames* names, const Trace& trace, const std::vector<Time>& start,
             const std::vector<Time>& end, const WaitOfRow& waits = {});

  /// By time. Order among equal times does not matter: only the state after all of them does.
  const std::vector<Change>& list() const { return list_; }
  /// SMs of the GPU; 0 where they, or the blocks of (nearly) all kernel time, are unknown.
  std::int32_t sms() const { return sms_; }

 private:
  std::vector<Change> list_;
  std::int32_t sms_ = 0;
};

/// `interval` > 0; whole intervals and the mean of SM time over [from, to).
struct UtilisationCurve {
  Utilisation curve;
  double mean_sms = -1;  ///< negative where unknown
};
UtilisationCurve utilisation_curve(const GpuChanges& changes, Time from, Time to, Time interval);

}  // namespace flopcast::report
