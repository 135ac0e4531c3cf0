// What the tasks of stretches wait for, by position.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "whatif/structure/recorded/recorded_cuts.h"

namespace flopcast::whatif::structure {

/// Fills in StretchTask::in and ::out. A bucket, an exchange and what is in no pass bring their waits
/// both ways; others bring what they wait for themselves.
class TaskWaits {
 public:
  /// @param stretches what is filled in; stretch_of[cut]: index into them
  TaskWaits(const replaying::Recording& recording, const RecordedCuts& at,
            const std::vector<Stretch>& stretches, const std::vector<std::uint32_t>& stretch_of);

  /// Of one stretch, from its copies: indices into the cuts.
  void add(Stretch& stretch, const std::vector<std::uint32_t>& copies) const;

 private:
  using In = std::map<StreamKey, std::pair<std::uint32_t, EdgeKind>>;
  using Out = std::map<std::pair<std::uint32_t, StreamKey>, std::pair<std::size_t, EdgeKind>>;

  bool brings_waits(std::uint32_t cut) const;
  In waits_in(std::uint32_t cut, std::uint32_t target) const;
  bool brought_by_source(std::uint32_t target_cut, std::uint32_t source) const;
  void count_waits_out(std::uint32_t cut, Out& out) const;

  const RecordedCuts& at_;
  const std::vector<Stretch>& stretches_;
  const std::vector<std::uint32_t>& stretch_of_;
  std::vector<std::vector<std::vector<const replaying::GpuEdge*>>> targets_;  // [rank][task]
};

}  // namespace flopcast::whatif::structure
