// What the clocks show a thread in virtual time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace flopcast::live {

/// The time of a clock as this thread sees it; none for a thread in real time, and for clocks that nobody models.
std::optional<std::int64_t> virtual_ns(clockid_t clock);
/// Whether it goes on with virtual time, not with processor time or by itself.
bool shows_virtual_time(clockid_t clock);
/// The look at the clock before was none of the program's.
void refund_look();
/// How long it is for this thread, which lives in virtual time, until a point of a clock.
std::int64_t until_ns(clockid_t clock, std::int64_t point_ns);
/// The same where nobody says which clock it is: the nearer one, as they are years apart.
std::int64_t until_ns(std::int64_t point_ns);

/// This thread has looked in vain at memory where another one acts, and lets others run. Both act in turn.
void take_round();

/// This thread, in virtual time, sleeps.
void sleep_ns(std::int64_t ns);

}  // namespace flopcast::live
