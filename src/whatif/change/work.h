// Which part of the work each GPU task of a run is: its class, and for collectives the operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/replay/recording.h"

namespace flopcast::whatif {

/// Parts are few and named; tasks point to them.
class Work {
 public:
  Work(const TraceSet& set, const replaying::Recording& recording);

  /// "gemm", "attention", "other_kernels", "copies"; of communication its operation:
  /// "all_reduce", or "other_communication" where nothing tells it.
  const std::vector<std::string>& parts() const { return parts_; }
  /// Index into parts().
  std::uint32_t of(std::uint32_t rank, std::uint32_t task) const { return of_[rank][task]; }
  bool is_communication(std::uint32_t part) const { return communication_[part]; }

 private:
  std::uint32_t part(std::string_view name, bool communication);

  std::vector<std::string> parts_;
  std::vector<bool> communication_;
  std::vector<std::vector<std::uint32_t>> of_;
};

}  // namespace flopcast::whatif
