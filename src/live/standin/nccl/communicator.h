// Communicators, and the calls that wait for the end of a group call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "live/standin/nccl/payload.h"

namespace flopcast::live {

/// ncclResult_t
enum NcclStatus : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
};

struct Communicator {
  std::unique_ptr<Party> party;
  int device = 0;
  std::uint64_t splits = 0, shrinks = 0;  ///< so far: they name what comes of it
  /// Whether it is no more: for graphs that have captured its calls.
  std::shared_ptr<bool> dropped = std::make_shared<bool>(false);
};

/// Behind a handle; null where that is.
inline Communicator* communicator_of(void* handle) { return static_cast<Communicator*>(handle); }

/// Between the two, calls of this thread are collected. They nest.
void begin_group();
NcclStatus end_group();
/// Goes out now, or with the others of its group call.
void send_or_collect(Communicator& communicator, const Call& call, const Record& record,
                     void* stream);
/// The communicator's ranks meet: now, or at the end of the group call.
void join_or_collect(const Communicator& communicator);

}  // namespace flopcast::live
