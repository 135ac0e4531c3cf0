#include "live/standin/clock/who.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <typeinfo>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/real.h"
#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

// --- helpers ------------------------------------------------------------------------------------

/// How a thread shows what it is for.
enum class Sign : std::uint8_t {
  kType,     ///< of what a std::thread runs, mangled: a member function or lambda of some class
  kLibrary,  ///< whose code it starts in
  kPython,   ///< name of a threading.Thread
};
struct Helper {
  Sign sign;
  std::string_view part;  ///< of the type, path or name
  Purpose purpose = Purpose::kServes;
};

/// Threads that serve a library and wait for what is not of the run, or only watch over it. They live in real
/// time, so that no time-out of theirs comes early or late; and so do the threads that they start.
constexpr Helper kHelpers[] = {
    {Sign::kType, "5nccl216ProcessGroupNCCLEDo", Purpose::kWatches},  // from PyTorch 2.15 on
    {Sign::kType, "16ProcessGroupNCCL8Watchdog", Purpose::kWatches},
    {Sign::kType, "4c10d"},  // its heartbeat monitor, TCPStore's daemons
    {Sign::kType, "4gloo"},  // its event loop
    {Sign::kType, "9libkineto"},
    {Sign::kType, "6tensorpipe"},
    {Sign::kLibrary, "libgomp"},  // teams that compute within one operator
    {Sign::kLibrary, "libiomp"},
    {Sign::kLibrary, "libomp"},
    {Sign::kLibrary, "openblas"},
    {Sign::kLibrary, "libmkl"},
    {Sign::kPython, "(_serve)"},  // multiprocessing: gives descriptors to who asks for them
    {Sign::kPython, "_read_thread",
     Purpose::kFeeds},                         // Inductor: listens to processes that compile
    {Sign::kPython, "InductorSubprocHealth"},  // looks whether they live
    {Sign::kPython, "subproc_worker_timer"},   // ends them when they are idle
    {Sign::kPython, "tqdm"},
};

Purpose shown(Sign sign, std::string_view text) {
  const auto* const found =
      std::find_if(std::begin(kHelpers), std::end(kHelpers), [=](const Helper& helper) {
        return helper.sign == sign && text.find(helper.part) != std::string_view::npos;
      });
  return found == std::end(kHelpers) ? Purpose::kProgram : found->purpose;
}

/// Where a library or the program lies.
struct Span {
  std::uintptr_t begin = 0, end = 0;
  bool has(const void* at) const {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return address >= begin && address < end;
  }
};

Span span_of(const void* code) {
  struct Search {
    Span found;
    const void* code;
  } search{{}, code};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          const Span span{begin, begin + part.p_memsz};
          if (span.has(wanted.code)) wanted.found = span;
        }
        return 0;
      },
      &search);
  return search.found;
}

const Span& python_span() {
  static const Span span = [] {
    const void* const known =
        reinterpret_cast<const void*>(python_function<void()>("PyEval_GetFrame"));
    return known ? span_of(known) : Span();
  }();
  return span;
}

/// What a std::thread starts with: libstdc++'s own object, whose type names the function.
Purpose shown_by_type(void* state) {
  struct Polymorphic {
    virtual ~Polymorphic() = default;
  };
  return shown(Sign::kType, typeid(*static_cast<Polymorphic*>(state)).name());
}

/// The thread that writes what is put into a multiprocessing.Queue: it takes objects from a list that it does not lock.
constexpr std::string_view kFeeder = "QueueFeederThread";
/// The list remembers when each object was put there, and who takes one goes on no earlier.
constexpr const char* kFollowFeeder = R"(
import collections, ctypes, sys
core = ctypes.CDLL(None)
core.flopcast_live_now.restype = ctypes.c_int64
core.flopcast_live_go_on.argtypes = [ctypes.c_int64]
class Timed(collections.deque):
    def append(self, item):
        super().append((core.flopcast_live_now(), item))
    def popleft(self):
        at, item = super().popleft()
        core.flopcast_live_go_on(at)
        return item
queue = sys._getframe(2).f_locals["self"]
if thread._args[0] is not queue._buffer:
    raise TypeError
queue._buffer = Timed()
thread._args = (queue._buffer, *thread._args[1:])
)";

/// Called where such a thread is started. @return false where multiprocessing is another one than that of Python 3.8 to 3.14
bool follow_feeder(void* thread) {
  auto* const run = python_function<void*(const char*, int, void*, void*)>("PyRun_String");
  auto* const make = python_function<void*()>("PyDict_New");
  auto* const put = python_function<int(void*, const char*, void*)>("PyDict_SetItemString");
  auto* const drop = python_function<void(void*)>("Py_DecRef");
  auto* const forget_error = python_function<void()>("PyErr_Clear");
  if (!run || !make || !put || !drop || !forget_error) return false;
  void* const names = make();
  constexpr int kFile = 257;  // Py_file_input
  void* const done =
      put(names, "thread", thread) == 0 ? run(kFollowFeeder, kFile, names, names) : nullptr;
  if (done) drop(done);
  forget_error();
  drop(names);
  return done != nullptr;
}

/// threading.Thread.start() is what runs where the interpreter starts a thread; its `self` has the name.
Purpose shown_by_python_name() {
  using Object = void;
  auto* const frame_of = python_function<Object*()>("PyEval_GetFrame");
  auto* const attribute = python_function<Object*(Object*, const char*)>("PyObject_GetAttrString");
  auto* const item = python_function<Object*(Object*, const char*)>("PyMapping_GetItemString");
  auto* const text_of = python_function<const char*(Object*)>("PyUnicode_AsUTF8");
  auto* const drop = python_function<void(Object*)>("Py_DecRef");
  auto* const forget_error = python_function<void()>("PyErr_Clear");
  if (!frame_of || !attribute || !item || !text_of || !drop || !forget_error)
    return Purpose::kProgram;
  Object* const frame = frame_of();
  Object* const locals = frame ? attribute(frame, "f_locals") : nullptr;
  Object* const self = locals ? item(locals, "self") : nullptr;
  Object* const name = self ? attribute(self, "_name") : nullptr;
  const char* const text = name ? text_of(name) : nullptr;
  Purpose purpose = text ? shown(Sign::kPython, text) : Purpose::kProgram;
  if (text && purpose == Purpose::kProgram && std::string_view(text) == kFeeder &&
      !follow_feeder(self))
    purpose = Purpose::kServes;
  forget_error();
  for (Object* const each : {name, self, locals}) {
    if (each) drop(each);
  }
  return purpose;
}

// --- processes ----------------------------------------------------------------------------------

/// The process of a rank that its children have above them.
constexpr const char* kOwnerVariable = "FLOPCAST_LIVE_OWNER";

/// Programs that only start others: one of those is the rank.
constexpr std::string_view kWrappers[] = {"sh",      "bash",    "dash",    "zsh",
                                          "env",     "nice",    "time",    "sudo",
                                          "numactl", "taskset", "timeout", "stdbuf"};

/// Of the file that runs.
std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string all(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return all.substr(all.rfind('/') + 1);
}

bool is_wrapper() {
  return std::find(std::begin(kWrappers), std::end(kWrappers), own_program()) !=
         std::end(kWrappers);
}

/// Programs that serve a library of the process that has started them: they live in real time, as its helpers do.
constexpr std::string_view kServingPrograms[] = {
    "torch/_inductor/compile_worker", "multiprocessing.resource_tracker", "torch_shm_manager"};

bool serves() {
  std::array<char, 4096> words{};
  const Descriptor file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), words.data(), words.size()) : 0;
  const std::string_view all(words.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::any_of(std::begin(kServingPrograms), std::end(kServingPrograms),
                     [all](std::string_view one) { return all.find(one) != all.npos; });
}

/// A rank's process lives in virtual time from its beginning. What else runs does so from when it uses a device itself.
bool is_rank() {
  if (!std::getenv(kSocketVariable) || !std::getenv("RANK") || is_wrapper()) return false;
  const char* const owner = std::getenv(kOwnerVariable);
  return !owner || std::atoi(owner) == ::getpid();
}

/// What a program in virtual time has started. A wrapper leaves its line to the program that it starts. Compilers and the like
/// wait in ways that are not known here, and have nothing to do with the run's time.
void take_inheritance() {
  if (is_wrapper()) return;
  if (!own_program().starts_with("python") || serves()) return Link::disinherit();
  static_cast<void>(Link::get());
  share_descriptors();
}

__attribute__((constructor)) void begin_virtual_time() {
  if (Link::inherits()) return take_inheritance();
  if (own_speaker || !is_rank()) return;
  std::array<char, 16> pid{};
  std::snprintf(pid.data(), pid.size(), "%d", ::getpid());
  ::setenv(kOwnerVariable, pid.data(), 1);
  static_cast<void>(Link::get().now_ns());
  leave_outputs();
}

}  // namespace

Purpose purpose_of(void* (*routine)(void*), void* argument) {
  const auto* const code = reinterpret_cast<const void*>(routine);
  Dl_info info{};
  const bool known = ::dladdr(code, &info) != 0 && info.dli_fname;
  const std::string_view library = known ? info.dli_fname : "";
  // Releases of PyTorch for older systems bring what starts a std::thread themselves, and nothing else is in that library.
  if (library.find("libstdc++") != std::string_view::npos || library.ends_with("/libtorch.so"))
    return shown_by_type(argument);
  if (is_python(code)) return shown_by_python_name();
  return shown(Sign::kLibrary, library);
}

bool is_rank_itself() {
  const char* const owner = std::getenv(kOwnerVariable);
  return owner && std::atoi(owner) == ::getpid();
}

bool is_python(const void* code) { return python_span().has(code); }

}  // namespace flopcast::live

/// A process that was forked from a server (src/live/start/launch/serve.py) and knows now which rank it is.
FLOPCAST_INTERPOSED void flopcast_live_is_rank() { flopcast::live::begin_virtual_time(); }

/// Where this thread is, and that it goes on no earlier: for what is handed over where no lock is.
FLOPCAST_INTERPOSED std::int64_t flopcast_live_now() {
  return flopcast::live::followed() ? flopcast::live::Link::moment().ns : 0;
}
FLOPCAST_INTERPOSED void flopcast_live_go_on(std::int64_t ns) {
  if (flopcast::live::followed()) flopcast::live::Link::get().go_on_from(ns);
}
