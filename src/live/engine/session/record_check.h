// What can be true of a record. The memory that records come in is the program's as well: a stray write of its own may
// have put anything there, and nothing of that may take the engine down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flopcast/base.h"
#include "live/wire/record.h"

namespace flopcast::live {

/// Virtual time is picoseconds in 64 bits: it ends after this, and nothing that a thread says takes more than `kLongest`.
inline constexpr Time kLastTime = Time::from_us(90LL * 24 * 3600 * 1'000'000);
inline constexpr Time kLongest = Time::from_us(8LL * 24 * 3600 * 1'000'000);
/// A thread that waits until then is not waited for: it goes on when it is woken.
inline constexpr Time kNotInThisRun{Time::max().ps - 1};

/// What is wrong with it; none if nothing is.
std::optional<Diagnostic> check_record(std::int32_t rank, const Record& record);
/// The program has written where only the stand-ins write.
Diagnostic overwritten(std::int32_t rank, std::string what);
/// A thread has come to the end of time.
Diagnostic time_is_over(std::int32_t rank);

}  // namespace flopcast::live
