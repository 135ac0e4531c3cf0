// A capture told to a session again: its records take the times that the session's work gives them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "live/engine/capture/capture.h"

namespace flopcast::live {

/// How far what programs were told of time is what they would have been told.
struct Retold {
  std::uint64_t asked = 0;    ///< answers of the capture that say more than a time
  std::uint64_t differs = 0;  ///< of those, that would have been others
  std::string first;          ///< such a one: who asked what
};

/// Tells all records, each as soon as its thread may have written it. Calls of a process keep their order, and so does
/// what comes from outside the run; where that would stop the run on this cluster, what comes first in time goes first.
/// @param settle called from time to time: tasks before the horizon are final
/// Errors: records that make no sense, time that is over, ranks that would wait for each other for ever.
Result<Retold> retell(const Capture& capture, Session& session,
                      const std::function<void()>& settle);

}  // namespace flopcast::live
