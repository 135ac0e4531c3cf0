// Which part of the work each task belongs to: what sensitivities and what-ifs scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// The parts of a recording's work. "host" is the first: operators, calls, and the time between
/// them. GPU tasks are "gemm" (convolutions included), "attention", "other_kernels", "copies" (and
/// sets), or a collective's operation: "all_reduce"; "other_communication" where its kernel hides
/// which.
class Parts {
 public:
  static constexpr const char* kHost = "host";   ///< name of the host's part
  static constexpr std::uint32_t kHostPart = 0;  ///< its index

  /// Kernels are told by their names.
  Parts(const TraceSet& set, const Recording& recording);

  /// Of all parts; those that have GPU tasks, after the host.
  const std::vector<std::string>& names() const { return names_; }
  /// The part of that name; kNoIndex where the recording has none.
  std::uint32_t find(const std::string& name) const;
  /// The part of a GPU task. @param rank,task indices into Recording::ranks and RankModel::gpu.
  std::uint32_t of_gpu(std::uint32_t rank, std::uint32_t task) const { return of_gpu_[rank][task]; }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<std::uint32_t>> of_gpu_;  // [rank][GPU task]
};

}  // namespace flopcast::replaying
