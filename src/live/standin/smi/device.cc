#include "live/standin/smi/device.h"

#include <array>
#include <cstdio>

// Of NVML, which this program is linked with.
extern "C" {
int nvmlInit_v2();
int nvmlDeviceGetCount_v2(unsigned*);
int nvmlDeviceGetHandleByIndex_v2(unsigned, void**);
int nvmlDeviceGetName(void*, char*, unsigned);
int nvmlDeviceGetUUID(void*, char*, unsigned);
int nvmlDeviceGetPciInfo_v3(void*, flopcast::live::PciInfo*);
int nvmlDeviceGetCudaComputeCapability(void*, int*, int*);
int nvmlSystemGetDriverVersion(char*, unsigned);
int nvmlSystemGetCudaDriverVersion_v2(int*);
int nvmlSystemGetProcessName(unsigned, char*, unsigned);
int nvmlDeviceGetClockInfo(void*, int, unsigned*);
int nvmlDeviceGetTemperature(void*, int, unsigned*);
int nvmlDeviceGetUtilizationRates(void*, flopcast::live::Utilization*);
int nvmlDeviceGetMemoryInfo(void*, flopcast::live::MemoryInfo*);
int nvmlDeviceGetEccMode(void*, int*, int*);
int nvmlDeviceGetMigMode(void*, unsigned*, unsigned*);
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned*, flopcast::live::ProcessInfo*);
int nvmlDeviceGetP2PStatus(void*, void*, int, int*);
int nvmlDeviceGetNvLinkState(void*, unsigned, int*);
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, flopcast::live::PciInfo*);
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned*);
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned*);
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned*);
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned*);
int nvmlDeviceGetPersistenceMode(void*, unsigned*);
int nvmlDeviceGetDisplayMode(void*, unsigned*);
int nvmlDeviceGetDisplayActive(void*, unsigned*);
int nvmlDeviceGetPerformanceState(void*, unsigned*);
int nvmlDeviceGetComputeMode(void*, unsigned*);
int nvmlDeviceGetPowerUsage(void*, unsigned*);
int nvmlDeviceGetPowerManagementLimit(void*, unsigned*);
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned*);
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned*);
int nvmlDeviceGetFanSpeed(void*, unsigned*);
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long*);
}

namespace flopcast::smi {
namespace {

using live::kNvmlSuccess;
constexpr unsigned kMostLinks = 36;  // NVML_NVLINK_MAX_LINKS

template <typename Value>
std::optional<Value> if_told(int status, Value value) {
  return status == kNvmlSuccess ? std::optional<Value>(value) : std::nullopt;
}

std::string text_of(int (*ask)(void*, char*, unsigned), void* handle) {
  std::array<char, 96> text{};
  return ask(handle, text.data(), text.size()) == kNvmlSuccess ? text.data() : "[N/A]";
}

}  // namespace

unsigned Device::count() {
  unsigned count = 0;
  ::nvmlInit_v2();
  ::nvmlDeviceGetCount_v2(&count);
  return count;
}

std::string Device::driver() {
  std::array<char, 96> text{};
  ::nvmlSystemGetDriverVersion(text.data(), text.size());
  return text.data();
}

std::string Device::cuda() {
  int version = 0;
  ::nvmlSystemGetCudaDriverVersion_v2(&version);
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

Device::Device(unsigned index) : index_(index) { ::nvmlDeviceGetHandleByIndex_v2(index, &handle_); }

std::string Device::name() const { return text_of(::nvmlDeviceGetName, handle_); }
std::string Device::uuid() const { return text_of(::nvmlDeviceGetUUID, handle_); }

PciInfo Device::pci() const {
  PciInfo info{};
  ::nvmlDeviceGetPciInfo_v3(handle_, &info);
  return info;
}

std::string Device::capability() const {
  int major = 0, minor = 0;
  ::nvmlDeviceGetCudaComputeCapability(handle_, &major, &minor);
  return std::to_string(major) + '.' + std::to_string(minor);
}

std::optional<unsigned long long> Device::number(Number which) const {
  if (which == Number::kSlowReasons) {
    unsigned long long reasons = 0;
    const int status = ::nvmlDeviceGetCurrentClocksEventReasons(handle_, &reasons);
    return if_told(status, reasons);
  }
  using Ask = int(void*, unsigned*);
  static constexpr Ask* kAsk[] = {
      ::nvmlDeviceGetCurrPcieLinkGeneration,
      ::nvmlDeviceGetMaxPcieLinkGeneration,
      ::nvmlDeviceGetCurrPcieLinkWidth,
      ::nvmlDeviceGetMaxPcieLinkWidth,
      ::nvmlDeviceGetPersistenceMode,
      ::nvmlDeviceGetDisplayMode,
      ::nvmlDeviceGetDisplayActive,
      ::nvmlDeviceGetPerformanceState,
      ::nvmlDeviceGetComputeMode,
      ::nvmlDeviceGetPowerUsage,
      ::nvmlDeviceGetPowerManagementLimit,
      ::nvmlDeviceGetPowerManagementDefaultLimit,
      ::nvmlDeviceGetEnforcedPowerLimit,
      ::nvmlDeviceGetFanSpeed,
  };
  unsigned value = 0;
  const int status = kAsk[static_cast<std::size_t>(which)](handle_, &value);
  return if_told<unsigned long long>(status, value);
}

std::optional<unsigned> Device::clock(Clock which) const {
  unsigned mhz = 0;
  const int status = ::nvmlDeviceGetClockInfo(handle_, static_cast<int>(which), &mhz);
  return if_told(status, mhz);
}

std::optional<unsigned> Device::temperature() const {
  unsigned celsius = 0;
  const int status = ::nvmlDeviceGetTemperature(handle_, 0, &celsius);
  return if_told(status, celsius);
}

std::optional<Utilization> Device::utilization() const {
  Utilization shares{};
  const int status = ::nvmlDeviceGetUtilizationRates(handle_, &shares);
  return if_told(status, shares);
}

std::optional<MemoryInfo> Device::memory() const {
  MemoryInfo memory{};
  const int status = ::nvmlDeviceGetMemoryInfo(handle_, &memory);
  return if_told(status, memory);
}

std::optional<bool> Device::ecc() const {
  int on = 0, pending = 0;
  const int status = ::nvmlDeviceGetEccMode(handle_, &on, &pending);
  return if_told(status, on != 0);
}

std::optional<bool> Device::mig() const {
  unsigned on = 0, pending = 0;
  const int status = ::nvmlDeviceGetMigMode(handle_, &on, &pending);
  return if_told(status, on != 0);
}

std::vector<ProcessInfo> Device::processes() const {
  unsigned count = 256;
  std::vector<ProcessInfo> all(count);
  if (::nvmlDeviceGetComputeRunningProcesses_v3(handle_, &count, all.data()) != kNvmlSuccess)
    return {};
  all.resize(count);
  return all;
}

unsigned Device::links_to(const Device& other) const {
  constexpr int kByNvlink = 2, kSwitch = 2;
  int status = 0;
  if (::nvmlDeviceGetP2PStatus(handle_, other.handle_, kByNvlink, &status) != kNvmlSuccess ||
      status != 0)
    return 0;
  unsigned links = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int active = 0, type = 0;
    if (::nvmlDeviceGetNvLinkState(handle_, link, &active) != kNvmlSuccess || active == 0) continue;
    ::nvmlDeviceGetNvLinkRemoteDeviceType(handle_, link, &type);
    PciInfo remote{};
    const bool told = ::nvmlDeviceGetNvLinkRemotePciInfo_v2(handle_, link, &remote) == kNvmlSuccess;
    if (type == kSwitch || (told && remote.bus == other.pci().bus)) ++links;
  }
  return links;
}

std::string Device::process_name(unsigned process) {
  std::array<char, 96> text{};
  const int status = ::nvmlSystemGetProcessName(process, text.data(), text.size());
  return status == kNvmlSuccess ? text.data() : "[Not Found]";
}

}  // namespace flopcast::smi
