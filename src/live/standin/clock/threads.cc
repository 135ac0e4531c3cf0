// Threads that begin and end.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/still.h"
#include "live/standin/clock/watching.h"
#include "live/standin/clock/who.h"

namespace flopcast::live {
namespace {

using Routine = void* (*)(void*);

constinit Real<int(pthread_t*, const pthread_attr_t*, Routine, void*)> real_create{
    "pthread_create"};
constinit Real<int(pthread_t, void**)> real_join{"pthread_join"};
constinit Real<void(void*)> real_exit{"pthread_exit"};
constinit Real<int(pthread_t, void**, clockid_t, const timespec*)> real_clockjoin{
    "pthread_clockjoin_np"};

/// What a thread begins with. @see run_thread
struct Beginning {
  Routine routine;
  void* argument;
  Speaker* speaker;  ///< null: it lives in real time
  Purpose purpose;
};

/// Where threads that nobody has joined yet ended. A handle that is used again replaces the old one's.
class Ends {
 public:
  static Ends& get() {
    static Ends* const ends = new Ends;
    return *ends;
  }
  void put(pthread_t thread, const Moment& end) {
    const std::lock_guard guard(lock_);
    ends_[thread] = end;
  }
  Moment take(pthread_t thread) {
    const std::lock_guard guard(lock_);
    const auto found = ends_.find(thread);
    if (found == ends_.end()) return {};
    const Moment end = found->second;
    ends_.erase(found);
    return end;
  }

 private:
  Spinlock lock_;
  std::map<pthread_t, Moment> ends_;
};

const void* place_of(pthread_t thread) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(thread));
}

/// Threads that hand on what other processes send.
constinit std::atomic<int> feeders{0};
constinit thread_local bool is_feeder = false;

/// Called after the destructors of all the thread's C++ objects.
void end_of_thread(void*) {
  Speaker* const me = own_speaker;
  if (me && me->ring) {
    Link& link = Link::get();
    link.wake(place_of(::pthread_self()), true);
    Ends::get().put(::pthread_self(), link.end_thread(*me));
  } else {
    delete me;
  }
  if (is_feeder) feeders.fetch_sub(1, std::memory_order_relaxed);
  end_watching();
  own_speaker = nullptr;
  is_helper_thread = true;  // whatever it still says holds nobody up
}

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    ::pthread_key_create(&made, end_of_thread);
    return made;
  }();
  return key;
}

void* run_thread(void* with) {
  const Beginning beginning = *static_cast<Beginning*>(with);
  delete static_cast<Beginning*>(with);
  ::pthread_setspecific(end_key(), &feeders);  // not null: the end is heard of
  is_feeder = beginning.purpose == Purpose::kFeeds;
  is_helper_thread = !beginning.speaker;
  if (beginning.purpose == Purpose::kWatches) begin_watching();
  if (beginning.speaker) Link::enter(*beginning.speaker);
  return beginning.routine(beginning.argument);
}

/// Whether the program's Python, if it has one, is about to be gone.
bool python_ends() {
  for (const char* const name : {"Py_IsFinalizing", "_Py_IsFinalizing"}) {
    if (void* const found = ::dlsym(RTLD_DEFAULT, name))
      return reinterpret_cast<int (*)()>(found)() != 0;
  }
  return false;
}

/// The thread that this one, in virtual time, is about to start.
Speaker* new_thread() {
  if (own_speaker->ring) return &Link::get().make_thread();
  auto* const made = new Speaker;
  made->clock_ns = own_speaker->now_ns();
  return made;
}

}  // namespace

/// In a child that was forked none of them is.
__attribute__((constructor)) static void handle_forks() {
  const auto in_parent = [] {
    if (followed()) share_pipes();
  };
  const auto in_child = [] {
    feeders.store(0);
    if (followed()) share_descriptors();
  };
  ::pthread_atfork(nullptr, in_parent, in_child);
}

bool is_fed() { return feeders.load(std::memory_order_relaxed) > 0; }

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                       void* (*routine)(void*), void* argument) noexcept {
  if (!own_speaker && !is_helper_thread) return real_create(thread, attributes, routine, argument);
  const Purpose purpose = is_helper_thread ? Purpose::kServes : purpose_of(routine, argument);
  const bool feeds = purpose == Purpose::kFeeds;
  if (feeds) feeders.fetch_add(1, std::memory_order_relaxed);
  auto* const beginning = new Beginning{
      routine, argument, purpose == Purpose::kProgram ? new_thread() : nullptr, purpose};
  Speaker* const made = beginning->speaker;
  const int status = real_create(thread, attributes, run_thread, beginning);
  if (status == 0) return 0;
  delete beginning;
  if (feeds) feeders.fetch_sub(1, std::memory_order_relaxed);
  if (made && made->ring) Link::get().end_thread(*made);
  if (made && !made->ring) delete made;
  return status;
}

/// Until 3.13 Python ends a thread so that asks for its lock when it is about to be gone, in the middle of
/// whatever C++ the thread is in: of a destructor that is std::terminate. As of 3.14 such a thread stays
/// where it is, and ends with the process.
FLOPCAST_INTERPOSED void pthread_exit(void* result) {
  if (followed() && python_ends()) {
    end_of_thread(nullptr);
    while (true) ::pause();
  }
  real_exit(result);
  __builtin_unreachable();
}

FLOPCAST_INTERPOSED int pthread_join(pthread_t thread, void** result) {
  if (!followed()) return real_join(thread, result);
  const int status = stand_still(Standing::kBlocked, place_of(thread), [&](const timespec* until) {
    return real_clockjoin(thread, result, CLOCK_MONOTONIC, until);
  });
  if (status == 0) Link::get().go_on_after(Ends::get().take(thread));
  return status;
}
