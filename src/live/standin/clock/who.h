// Which processes and threads live in virtual time.
#pragma once

#include <dlfcn.h>

#include <cstdint>

namespace flopcast::live {

/// What a thread is for.
enum class Purpose : std::uint8_t {
  kProgram,  ///< the program's work: it lives in virtual time
  kServes,   ///< a library: it lives in real time
  kFeeds,    ///< the same, and hands on what other processes send: other threads wait for it
  kWatches,  ///< the same, and looks whether calls take too long: its clock is the run's
};
/// Of a thread that this one starts.
Purpose purpose_of(void* (*routine)(void*), void* argument);
/// A function of Python's interface; null if the process has no Python.
template <typename Signature>
Signature* python_function(const char* name) {
  return reinterpret_cast<Signature*>(::dlsym(RTLD_DEFAULT, name));
}
/// Whether this process is a rank, and none that a rank has started.
bool is_rank_itself();
/// Whether code belongs to the Python interpreter itself.
bool is_python(const void* code);

}  // namespace flopcast::live
