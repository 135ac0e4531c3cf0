// Sends that a chip may wait for: what the run of a schedule and its program both go by.
#pragma once

#include "flopcast/parallel/schedule.h"

namespace flopcast::parallel {

/// Whether the action sends to another chip, and the next one of the list makes something for the same direction: nothing
/// hides the send then.
bool sent_before_next(const Schedule& schedule, unsigned chip, std::size_t at);
/// The virtual stage whose `send` it is.
unsigned sends_by(const Schedule& schedule, unsigned chip, const PipelineAction& action);

}  // namespace flopcast::parallel
