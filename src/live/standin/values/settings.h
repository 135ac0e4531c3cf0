// What a run wants of values, from the environment that `flopcast run` sets.
#pragma once

#include "live/standin/values/plugin.h"

namespace flopcast::live {

/// By the words of FLOPCAST_LIVE_VALUES, with commas between them: "strict", "execute:16384,zipf:1.2".
const FlopcastValues& value_settings();

}  // namespace flopcast::live
