// PyTorch's profiler stamps its events with cycles of the machine that runs the script, and makes times of them by what
// the wall clock showed when it began and when it ended. That would spread virtual time evenly over the real one: an
// operator would last as long as it took this machine, and kernels would lie outside of the steps that launched
// them. So its converter (c10::ApproximateClockToUnixTimeConverter of libc10.so) is this one for threads in
// virtual time: it knows both clocks at every call that the stand-ins saw.
#include <dlfcn.h>

#include <functional>
#include <memory>

#include "live/standin/clock/real.h"
#include "live/standin/observe/profiler.h"

namespace flopcast::live {
namespace {

using Converter = std::function<std::int64_t(std::uint64_t)>;
/// ApproximateClockToUnixTimeConverter::UnixAndApproximateTimePair
struct TorchReading {
  std::int64_t wall_ns = 0;
  std::uint64_t program = 0;
};

#define FLOPCAST_TORCH_CLOCK "_ZN3c1035ApproximateClockToUnixTimeConverter"

/// A function of PyTorch's own converter; null where there is none. PyTorch's libraries are not those that everybody
/// in the process sees, so the next definition is not found by asking for it.
template <typename Function>
Function* of_torch(const char* name) {
  static void* const library = ::dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  return library ? reinterpret_cast<Function*>(::dlsym(library, name)) : nullptr;
}

std::uint64_t torch_stamp() {
  static auto* const measure = of_torch<TorchReading()>(FLOPCAST_TORCH_CLOCK "11measurePairEv");
  return measure ? measure().program : 0;
}

/// From here on stamps are times already: the cycles of a machine that has been up for ten years.
constexpr std::uint64_t kAlreadyTime = 1'000'000'000'000'000'000;

Converter converter_of(ClockReadings readings) {
  return [kept = std::make_shared<ClockReadings>(std::move(readings))](std::uint64_t stamp) {
    return stamp >= kAlreadyTime ? static_cast<std::int64_t>(stamp) : kept->wall_of(stamp);
  };
}

}  // namespace

__attribute__((visibility("default"))) void construct_torch_clock(void* self) __asm__(
    FLOPCAST_TORCH_CLOCK "C1Ev");
__attribute__((visibility("default"))) Converter make_torch_converter(void* self) __asm__(
    FLOPCAST_TORCH_CLOCK "13makeConverterEv");

void construct_torch_clock(void* self) {
  static auto* const real = of_torch<void(void*)>(FLOPCAST_TORCH_CLOCK "C1Ev");
  if (followed()) {
    Profiler::get().begin_readings(torch_stamp());
  } else if (real) {
    real(self);
  }
}

Converter make_torch_converter(void* self) {
  static auto* const real = of_torch<Converter(void*)>(FLOPCAST_TORCH_CLOCK "13makeConverterEv");
  if (followed()) return converter_of(Profiler::get().end_readings(torch_stamp()));
  if (real) return real(self);
  return [](std::uint64_t stamp) { return static_cast<std::int64_t>(stamp); };
}

}  // namespace flopcast::live
