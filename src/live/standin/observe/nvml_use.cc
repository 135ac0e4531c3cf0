// NVML: what a device does just now. The engine tells it, at the time of the thread that asks.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "live/standin/api/api.h"
#include "live/standin/observe/nvml.h"

namespace flopcast::live {
namespace {

/// A call of the driver's: programs that ask again and again get on. Assumed.
constexpr std::uint32_t kNvmlCallNs = 10'000;
constexpr double kWhole = 1e9;

/// None where nobody listens: in a child that was forked.
std::optional<std::uint64_t> use_of(void* handle, DeviceUse what, std::uint64_t which = 0) {
  Record record;
  record.act = Act::kAskUse;
  record.device = static_cast<std::uint16_t>(device_of_handle(handle));
  record.duration_ns = kNvmlCallNs;
  record.word[0] = static_cast<std::uint64_t>(what);
  record.word[1] = which;
  const Told told = Link::get().look(record);
  if (told.status != 0) return std::nullopt;
  return told.value;
}

/// Whole numbers of something, per cent or milliwatt.
unsigned scaled(double value) { return static_cast<unsigned>(std::lround(value)); }

/// Between idle and rated by the time in which it computes.
double power_mw(double busy) {
  const DeviceFacts& chip = chip_facts();
  return chip.idle_mw + busy * (chip.power_mw - chip.idle_mw);
}

/// Gives what follows from the share of the last second in which the device computes.
template <typename T, typename Function>
int give_by_share(void* handle, T* out, Function value) {
  if (!is_handle(handle) || !out) return kNvmlInvalidArgument;
  const auto busy = use_of(handle, DeviceUse::kComputes);
  if (!busy) return kNvmlNotSupported;
  *out = static_cast<T>(value(static_cast<double>(*busy) / kWhole));
  return kNvmlSuccess;
}

template <typename T>
int give_power(void* handle, T* out) {
  if (chip_facts().power_mw == 0) return give_known(handle, out, 0);
  return give_by_share(handle, out, [](double busy) { return scaled(power_mw(busy)); });
}

int give_temperature(void* handle, int sensor, unsigned* out) {
  const DeviceFacts& chip = chip_facts();
  if (sensor != 0) return kNvmlInvalidArgument;
  if (chip.power_mw == 0 || chip.warm_c == 0) return give_known(handle, out, 0);
  return give_by_share(handle, out, [&chip](double busy) {
    return scaled(chip.cool_c + busy * (chip.warm_c - chip.cool_c));
  });
}

/// Since the run began.
int give_energy(void* handle, unsigned long long* out) {
  const DeviceFacts& chip = chip_facts();
  if (chip.power_mw == 0) return give_known(handle, out, 0);
  if (!is_handle(handle) || !out) return kNvmlInvalidArgument;
  const auto busy_ps = use_of(handle, DeviceUse::kBusyTime);
  if (!busy_ps) return kNvmlNotSupported;
  const double all_s = static_cast<double>(Link::get().look_ns()) / 1e9;
  const double busy_s = static_cast<double>(*busy_ps) / 1e12;
  *out = static_cast<unsigned long long>(
      std::llround(chip.idle_mw * all_s + busy_s * (chip.power_mw - chip.idle_mw)));
  return kNvmlSuccess;
}

std::optional<MemoryInfo> memory_of(void* handle) {
  const auto used = use_of(handle, DeviceUse::kMemory);
  if (!used) return std::nullopt;
  const std::uint64_t total = chip_facts().memory_bytes;
  return MemoryInfo{total, total - std::min(*used, total), *used};
}

/// Those of the run that have memory of the device.
int give_processes(void* handle, unsigned* count, void* out, std::size_t bytes_each) {
  if (!is_handle(handle) || !count) return kNvmlInvalidArgument;
  const unsigned room = *count;
  *count = 0;
  for (;; ++*count) {
    const auto process = use_of(handle, DeviceUse::kProcess, *count);
    if (!process) return kNvmlNotSupported;
    if (*process == 0) break;
    if (*count >= room || !out) continue;
    const auto memory = use_of(handle, DeviceUse::kMemoryOf, *count);
    const ProcessInfo one{static_cast<unsigned>(*process), memory.value_or(0), {~0u, ~0u}};
    std::memcpy(static_cast<char*>(out) + *count * bytes_each, &one, bytes_each);
  }
  return *count > room || (*count > 0 && !out) ? kNvmlInsufficientSize : kNvmlSuccess;
}

/// NVML_CLOCK_GRAPHICS and NVML_CLOCK_SM: nothing slows a device down, so it runs at its highest.
int give_clock(void* handle, int which, unsigned* mhz) {
  constexpr int kSm = 1, kClocks = 4;
  if (which < 0 || which >= kClocks) return kNvmlInvalidArgument;
  return give_known(handle, mhz, which <= kSm ? chip_facts().clock_khz / 1000 : 0);
}

/// nvmlClocksEventReasons: that of a device on which nothing runs.
int give_slow_reasons(void* handle, unsigned long long* out) {
  return give_by_share(handle, out, [](double busy) { return busy > 0 ? 0 : 1; });
}

/// nvmlTemperature_v1_t
struct Temperature {
  unsigned version;
  int sensor, celsius;
};
constexpr unsigned kTemperatureVersion = 0x100000C;

/// nvmlFieldValue_t
struct FieldValue {
  std::uint32_t field, scope;
  std::int64_t stamp_us, latency_us;
  int type, status;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};
enum FieldType : int { kUnsigned = 1, kUnsignedLongLong = 3 };

/// Fields that are known by other names, too: NVML_FI_DEV_...
void fill_field(void* handle, FieldValue& field) {
  enum : std::uint32_t {
    kEnergy = 83,
    kNvlinkSpeed = 90,
    kNvlinks = 91,
    kPowerAverage = 185,
    kPowerInstant = 186,
    kPowerDefaultLimit = 189,
    kPowerLimit = 190,
    kPowerRequestedLimit = 192
  };
  const DeviceFacts& chip = chip_facts();
  field.type = kUnsigned;
  field.value.large = 0;
  switch (field.field) {
    case kEnergy:
      field.type = kUnsignedLongLong;
      field.status = give_energy(handle, &field.value.large);
      return;
    case kNvlinkSpeed:
      field.status = give_known(handle, &field.value.number, chip.nvlink_mbs);
      return;
    case kNvlinks:
      field.status = give_known(handle, &field.value.number, chip.nvlinks);
      return;
    case kPowerAverage:
    case kPowerInstant:
      field.status = give_power(handle, &field.value.number);
      return;
    case kPowerDefaultLimit:
    case kPowerLimit:
    case kPowerRequestedLimit:
      field.status = give_known(handle, &field.value.number, chip.power_mw);
      return;
    default:
      field.status = kNvmlNotSupported;
  }
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int nvmlDeviceGetUtilizationRates(void* handle, Utilization* out) {
  if (!is_handle(handle) || !out) return kNvmlInvalidArgument;
  const auto computes = use_of(handle, DeviceUse::kComputes),
             moves = use_of(handle, DeviceUse::kMoves);
  if (!computes || !moves) return kNvmlNotSupported;
  const auto percent = [](std::uint64_t share) {
    return scaled(100 * static_cast<double>(share) / kWhole);
  };
  *out = {percent(*computes), percent(*moves)};
  return kNvmlSuccess;
}
/// Nothing of a run encodes or decodes video.
FLOPCAST_API int nvmlDeviceGetEncoderUtilization(void* handle, unsigned* percent, unsigned* us) {
  if (us) *us = 1'000'000;
  return give(handle, percent, 0);
}
FLOPCAST_API int nvmlDeviceGetDecoderUtilization(void* handle, unsigned* percent, unsigned* us) {
  return nvmlDeviceGetEncoderUtilization(handle, percent, us);
}
FLOPCAST_API int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatt) {
  return give_power(handle, milliwatt);
}
FLOPCAST_API int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* millijoule) {
  return give_energy(handle, millijoule);
}
FLOPCAST_API int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
  return give_temperature(handle, sensor, celsius);
}
FLOPCAST_API int nvmlDeviceGetTemperatureV(void* handle, Temperature* out) {
  if (!out) return kNvmlInvalidArgument;
  if (out->version != kTemperatureVersion) return kNvmlVersionMismatch;
  unsigned celsius = 0;
  const int status = give_temperature(handle, out->sensor, &celsius);
  out->celsius = static_cast<int>(celsius);
  return status;
}
FLOPCAST_API int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  return give_clock(handle, which, mhz);
}
FLOPCAST_API int nvmlDeviceGetMaxClockInfo(void* handle, int which, unsigned* mhz) {
  return give_clock(handle, which, mhz);
}
FLOPCAST_API int nvmlDeviceGetMaxCustomerBoostClock(void* handle, int which, unsigned* mhz) {
  return give_clock(handle, which, mhz);
}
FLOPCAST_API int nvmlDeviceGetApplicationsClock(void* handle, int which, unsigned* mhz) {
  return give_clock(handle, which, mhz);
}
FLOPCAST_API int nvmlDeviceGetClock(void* handle, int which, int, unsigned* mhz) {
  return give_clock(handle, which, mhz);
}
/// NVML_PSTATE_0
FLOPCAST_API int nvmlDeviceGetPerformanceState(void* handle, int* state) {
  return give(handle, state, 0);
}
FLOPCAST_API int nvmlDeviceGetPowerState(void* handle, int* state) {
  return nvmlDeviceGetPerformanceState(handle, state);
}
FLOPCAST_API int nvmlDeviceGetCurrentClocksEventReasons(void* handle, unsigned long long* out) {
  return give_slow_reasons(handle, out);
}
FLOPCAST_API int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* out) {
  return give_slow_reasons(handle, out);
}
FLOPCAST_API int nvmlDeviceGetMemoryInfo(void* handle, MemoryInfo* info) {
  if (!is_handle(handle) || !info) return kNvmlInvalidArgument;
  const auto memory = memory_of(handle);
  if (memory) *info = *memory;
  return memory ? kNvmlSuccess : kNvmlNotSupported;
}
FLOPCAST_API int nvmlDeviceGetMemoryInfo_v2(void* handle, MemoryInfo2* info) {
  if (!is_handle(handle) || !info) return kNvmlInvalidArgument;
  const auto memory = memory_of(handle);
  if (memory) *info = {info->version, memory->total, 0, memory->free, memory->used};
  return memory ? kNvmlSuccess : kNvmlNotSupported;
}
FLOPCAST_API int nvmlDeviceGetComputeRunningProcesses(void* handle, unsigned* count, void* out) {
  return give_processes(handle, count, out, 16);
}
FLOPCAST_API int nvmlDeviceGetComputeRunningProcesses_v2(void* handle, unsigned* count, void* out) {
  return give_processes(handle, count, out, sizeof(ProcessInfo));
}
FLOPCAST_API int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, void* out) {
  return give_processes(handle, count, out, sizeof(ProcessInfo));
}
FLOPCAST_API int nvmlDeviceGetGraphicsRunningProcesses_v3(void* handle, unsigned* count, void*) {
  return give(handle, count, 0);
}
FLOPCAST_API int nvmlDeviceGetGraphicsRunningProcesses_v2(void* handle, unsigned* count, void*) {
  return give(handle, count, 0);
}
FLOPCAST_API int nvmlDeviceGetGraphicsRunningProcesses(void* handle, unsigned* count, void*) {
  return give(handle, count, 0);
}
FLOPCAST_API int nvmlDeviceGetFieldValues(void* handle, int count, FieldValue* values) {
  if (!is_handle(handle) || !values || count <= 0) return kNvmlInvalidArgument;
  for (FieldValue* field = values; field != values + count; ++field) {
    fill_field(handle, *field);
    field->stamp_us = (Link::start_ns() + Link::get().look_ns()) / 1000;
    field->latency_us = kNvmlCallNs / 1000;
  }
  return kNvmlSuccess;
}
