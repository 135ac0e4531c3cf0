// What tests of changes share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "support/trace_text.h"
#include "whatif/prepared.h"

namespace flopcast::whatif {

/// The run of a recording, without any change.
inline ChangedRun run_of(TraceSet set) {
  Result<Prepared> made = prepare(std::make_shared<const TraceSet>(std::move(set)), 1);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return made ? std::move(made->recorded) : ChangedRun{};
}

}  // namespace flopcast::whatif
