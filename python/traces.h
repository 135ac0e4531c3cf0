// What several parts of the module take: recordings that were read.
#pragma once

#include <memory>

#include "flopcast/trace.h"

namespace flopcast {

/// A trace set that columns, replays and what-ifs may outlive the Python name of.
struct SharedSet {
  std::shared_ptr<const TraceSet> set;
};

}  // namespace flopcast
