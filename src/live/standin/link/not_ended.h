// Watchdogs ask of all that is under way, again and again, in real time: of thousands of events that lie behind each other.
#pragma once

#include <cstdint>

namespace flopcast::live {

/// Where an event was recorded: a process's streams, and the order of its events.
struct EventPlace {
  std::uint64_t stream = 0, order = 0;
};

/// How far this process's watchdogs are shown the run.
std::int64_t shown_to_watchdogs();
/// Whether the engine need not be asked: as far as the process is shown the run, something else ahead of it on its stream has not
/// ended. Of the first on a stream the engine is asked each time. Only for threads that hold nobody up. An event that has ended may
/// be taken for one that has not for a while, as if it had been asked of a little earlier.
bool has_not_ended(const EventPlace& place);
/// The engine has said that it had not, asked when the process was shown the run so far.
void note_not_ended(const EventPlace& place, std::int64_t shown_ns);

}  // namespace flopcast::live
