// What a run was bound by.
#pragma once

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// The chain of causes back from the task that ended last, to the start of its rank's window. Where
/// a task on it starts when it was recorded to, because nothing in the trace holds it, the path goes
/// on with what ended last before it on the same rank, and what lies between is pinned.
CriticalPath critical_path(const Assembly& assembly, const Run& run);

}  // namespace flopcast::replaying
