// Functions of the C library that the core takes over for threads in virtual time, as they are there.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "live/standin/link/link.h"

/// A function that stands before one of the C library.
#define FLOPCAST_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace flopcast::live {

template <typename Signature>
class Real;

/// Looked up when first called, without a lock: that may be before any constructor has run.
template <typename Result, typename... Arguments>
class Real<Result(Arguments...)> {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}
  Result operator()(Arguments... arguments) {
    using Function = Result (*)(Arguments...);
    void* found = found_.load(std::memory_order_relaxed);
    if (!found) found_.store(found = ::dlsym(RTLD_NEXT, name_), std::memory_order_relaxed);
    return reinterpret_cast<Function>(found)(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

/// This thread, where the engine follows it; null in real time, and in a child of a rank.
inline Speaker* followed() {
  Speaker* const me = own_speaker;
  return me && me->ring ? me : nullptr;
}

/// The line of this process, if this is one of its threads in real time; else null.
inline Link* of_helper() { return is_helper_thread ? Link::opened() : nullptr; }

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Whoever would wait for ever names a time of centuries: threading.TIMEOUT_MAX.
constexpr std::int64_t kForeverS = 6'000'000'000;

constexpr std::int64_t to_ns(const timespec& time) {
  const std::int64_t seconds = std::clamp<std::int64_t>(time.tv_sec, -kForeverS, kForeverS);
  return seconds * kSecondNs + time.tv_nsec;
}
constexpr timespec to_timespec(std::int64_t ns) { return {ns / kSecondNs, ns % kSecondNs}; }

/// A point of CLOCK_MONOTONIC as it is.
inline timespec real_in(std::int64_t ns) { return to_timespec(real_ns(CLOCK_MONOTONIC) + ns); }

}  // namespace flopcast::live
