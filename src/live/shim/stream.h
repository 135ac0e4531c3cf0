// What other calls need of a stream.
#pragma once

#include "live/wire/record.h"

namespace flopcast::live {

/// The default stream of this thread's device, by any of its three handles.
bool is_default(void* stream);
/// A record of a call about this stream.
Record record_on(void* stream, Act act);

}  // namespace flopcast::live
