// What the tests of the published model share.
#pragma once

#include <cstdint>

#include "flopcast/published/subramanian.h"

namespace flopcast::published {

/// A case by the names of the published study.
inline PaperCase case_of(const char* model, const char* system, PaperStrategy strategy,
                         std::int64_t global_batch = 4096) {
  return {*paper_model(model), *paper_system(system), strategy, global_batch, {}};
}

}  // namespace flopcast::published
