// Threads in real time that look whether calls take too long, as NCCL's watchdogs do. Their clock is the run's, so that a
// call's time-out comes in virtual time; but they wait as long between two looks as they always do, unless
// the engine wants them to look: before it lets pass a time at which some call's may be up.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace flopcast::live {

/// This thread is one from now on.
void begin_watching();
/// It has ended.
void end_watching();
/// Time since the start of the run as this thread sees it; none if it is not one.
std::optional<std::int64_t> watched_ns();
/// The same, and the clock was looked at: a wait of this thread's that has ended by its time shows its end once.
std::optional<std::int64_t> look_at_watched(clockid_t clock);
/// Waits, the mutex let go, for so long or until the engine wants a look (ETIMEDOUT), or a notification comes (0).
/// @param looks whether the thread has looked at its calls since its wait before
int watch(const pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns, bool looks);
/// Its look is over though it is not, as far as the engine goes: what it waits for goes on when the engine does.
void give_up_look();
/// Whether there is any in this process.
bool any_watchers();
/// A notification came.
void wake_watchers(const pthread_cond_t* condition);

}  // namespace flopcast::live
