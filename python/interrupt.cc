#include "interrupt.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace flopcast {
namespace {

namespace nb = nanobind;

std::atomic<int> running = 0;

/// Work that was left behind reads the library's tables: where it still runs, they are not destroyed.
void leave_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] {
    on_exit(
        [](int status, void*) {
          if (running == 0) return;
          std::fflush(nullptr);
          _exit(status);
        },
        nullptr);
  });
}

}  // namespace

Background::Background() { ++running; }
Background::~Background() {
  if (counted_) --running;
}

void await(const std::function<bool(std::chrono::milliseconds)>& ready, Stop& stop,
           const std::function<void()>& each_slice) {
  constexpr std::chrono::milliseconds kSlice{50}, kMoment{200};
  const auto is_ready = [&](std::chrono::milliseconds slice) {
    const nb::gil_scoped_release other_python_threads_go_on;
    return ready(slice);
  };
  try {
    for (bool done = false; !done;) {
      done = is_ready(kSlice);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (each_slice) each_slice();
    }
  } catch (...) {
    stop = true;
    if (!is_ready(kMoment)) leave_at_exit();
    throw;
  }
}

}  // namespace flopcast
