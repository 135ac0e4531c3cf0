#include "live/standin/link/teller.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "live/standin/link/speaker.h"
#include "live/standin/stacks/python.h"

namespace flopcast::live {
namespace {

using ThreadRoutine = void* (*)(void*);
/// So long other threads are waited for: for Python's lock, or until a signal has come.
constexpr int kPythonMs = 1200, kSignalMs = 200;
constexpr std::size_t kStackBytes = 512 << 10;
constexpr std::size_t kMostFrames = 32;

void sleep_ms(int ms) {
  const timespec time{0, ms * 1'000'000L};
  syscall(SYS_nanosleep, &time, nullptr);
}

/// A thread of this process that lives in real time, which no signal of the program's comes to.
bool start_helper(ThreadRoutine routine, void* argument) {
  // Not the core's own, which asks whose thread it is.
  static const auto create =
      reinterpret_cast<decltype(&::pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int status = create(&thread, &attributes, routine, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return status == 0;
}

// --- Python -------------------------------------------------------------------------------------

/// Python numbers threads as the C library does. Those that it has not started itself are known by their rings alone.
constexpr const char* kProgram = R"(
import sys
by_number = {}
names = {}
for thread in list(getattr(sys.modules.get("threading"), "_active", {}).values()):
    names[thread.ident] = thread.name
    by_number[getattr(thread, "native_id", None)] = thread.ident
frames = sys._current_frames()
told = []
for number, handle in wanted:
    handle = by_number.get(number, handle)
    frame = frames.get(handle)
    lines = [names.get(handle, "")]
    while frame is not None and len(lines) <= 32:
        code = frame.f_code
        lines.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
        frame = frame.f_back
    told.append("\n".join(lines))
told = "\f".join(told)
)";

/// A question to Python. Whoever is done with it last, who asks or who answers, frees it.
struct PythonQuestion {
  std::string program, told;
  std::atomic<bool> done{false};
};

/// Whether one waits for Python's lock, perhaps for good.
constinit std::atomic<bool> asks_python{false};

void* ask_python(void* with) {
  is_helper_thread = true;
  const std::unique_ptr<std::shared_ptr<PythonQuestion>> question(
      static_cast<std::shared_ptr<PythonQuestion>*>(with));
  (*question)->told = Python().run((*question)->program.c_str());
  (*question)->done.store(true, std::memory_order_release);
  asks_python.store(false);
  return nullptr;
}

/// What Python says of each thread; nothing if it has none of it, or its lock does not come free.
std::string python_stacks(const Stacks& wanted) {
  if (asks_python.exchange(true)) return {};
  auto question = std::make_shared<PythonQuestion>();
  question->program = "wanted = [";
  for (std::uint32_t i = 0; i < wanted.count; ++i) {
    question->program +=
        "(" + std::to_string(wanted.threads[i]) + ", " + std::to_string(wanted.handles[i]) + "), ";
  }
  question->program += std::string("]") + kProgram;
  auto* const with = new std::shared_ptr<PythonQuestion>(question);
  if (!start_helper(ask_python, with)) {
    delete with;
    asks_python.store(false);
    return {};
  }
  for (int ms = 0; ms < kPythonMs; ++ms) {
    if (question->done.load(std::memory_order_acquire)) return question->told;
    sleep_ms(1);
  }
  return {};
}

// --- functions ----------------------------------------------------------------------------------

/// Where the thread is that was sent the signal; -1: not known yet.
constinit std::atomic<int> seen{-1};
void* seen_frames[kMostFrames];

void look_where(int) {
  const int error = errno;
  seen.store(::backtrace(seen_frames, kMostFrames), std::memory_order_release);
  errno = error;
}

std::string name_of_frame(void* address) {
  Dl_info info{};
  if (::dladdr(static_cast<char*>(address) - 1, &info) == 0 || !info.dli_fname) return {};
  std::string_view library = info.dli_fname;
  library.remove_prefix(library.rfind('/') + 1);
  if (!info.dli_sname) return "? (" + std::string(library) + ")";
  int status = 0;
  char* const plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = plain ? plain : info.dli_sname;
  std::free(plain);
  return name.substr(0, 120) + " (" + std::string(library) + ")";
}

/// By a signal that does nothing where nobody has a use for it. A program that has one is left alone.
std::string functions_of(std::int32_t thread) {
  struct sigaction ours {
  }, before{};
  if (::sigaction(SIGURG, nullptr, &before) != 0 ||
      (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN))
    return {};
  ours.sa_handler = look_where;
  ours.sa_flags = SA_RESTART;
  void* warm[1];
  ::backtrace(warm, 1);  // loads what it needs, which a handler must not
  seen.store(-1);
  ::sigaction(SIGURG, &ours, nullptr);
  syscall(SYS_tgkill, ::getpid(), thread, SIGURG);
  for (int ms = 0; ms < kSignalMs && seen.load(std::memory_order_acquire) < 0; ++ms) sleep_ms(1);
  ::sigaction(SIGURG, &before, nullptr);
  std::string lines;
  constexpr int kOfSignal = 2;  // the handler, and what calls it
  for (int i = kOfSignal; i < seen.load(); ++i) {
    const std::string name = name_of_frame(seen_frames[i]);
    if (!name.empty()) lines += "\n" + name;
  }
  return lines;
}

// --- the thread ---------------------------------------------------------------------------------

void tell(Stacks& stacks) {
  const std::string python = python_stacks(stacks);
  std::string_view left = python;
  for (std::uint32_t i = 0; i < stacks.count; ++i) {
    const std::size_t end = std::min(left.find('\f'), left.size());
    std::string text(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
    const bool has_lines = text.find('\n') != std::string::npos;
    if (!has_lines) text += functions_of(stacks.threads[i]);
    stacks.python[i] = has_lines ? 1 : 0;
    text.resize(std::min(text.size(), sizeof stacks.text[i] - 1));
    std::memcpy(stacks.text[i], text.c_str(), text.size() + 1);
  }
}

void* tell_when_wanted(void* with) {
  is_helper_thread = true;
  Stacks& stacks = *static_cast<Stacks*>(with);
  for (std::uint32_t told = 0;;) {
    const std::uint32_t wanted = stacks.wanted.load(std::memory_order_acquire);
    if (wanted == told) {
      futex_wait_long(stacks.wanted, told);
      continue;
    }
    tell(stacks);
    stacks.told.store(told = wanted, std::memory_order_release);
  }
  return nullptr;
}

}  // namespace

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FLOPCAST_FOLLOWS_THREADS 1
#endif
#endif

void begin_telling(Stacks& stacks) {
#ifdef FLOPCAST_FOLLOWS_THREADS
  // ThreadSanitizer knows no threads of forked processes: tests under it go without.
  static_cast<void>(stacks);
  static_cast<void>(tell_when_wanted);
#else
  start_helper(tell_when_wanted, &stacks);
#endif
}

}  // namespace flopcast::live
