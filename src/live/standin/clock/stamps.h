// Times that objects of the program carry from one thread to the next: semaphores that of whoever posted them last, mutexes
// that of whoever announced a change of what they protect.
#pragma once

#include "live/standin/link/speaker.h"

namespace flopcast::live {

/// The object carries this moment, if it is later than what it carries.
void stamp(const void* object, const Moment& moment);
/// A new object at this address carries nothing.
void clear_stamp(const void* object);
/// This thread, which the engine follows, does not go on before what the object carries.
void take_stamp(const void* object);
/// This thread has locked a mutex. Whoever had it before may have let go of it and not yet announced what it changed: until that
/// one does something else, has computed for 2 ms or 200 ms have really passed, this thread waits, as it would have if it had come
/// sooner.
void wait_for_last_locker(const void* mutex);
/// The moment that the object carries; 0 if none.
std::int64_t stamped_ns(const void* object);

}  // namespace flopcast::live
