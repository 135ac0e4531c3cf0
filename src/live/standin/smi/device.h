// A device as NVML tells it, for nvidia-smi. What NVML does not know is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "live/standin/observe/nvml_types.h"

namespace flopcast::smi {

using live::MemoryInfo;
using live::PciInfo;
using live::ProcessInfo;
using live::Utilization;

/// Numbers that NVML gives for a device alone.
enum class Number {
  kPcieGeneration,
  kPcieGenerationMost,
  kPcieWidth,
  kPcieWidthMost,
  kPersistence,
  kDisplayMode,
  kDisplayActive,
  kState,
  kComputeMode,
  kPower,
  kPowerLimit,
  kPowerDefaultLimit,
  kPowerEnforced,
  kFan,
  kSlowReasons
};
enum class Clock { kGraphics, kSm, kMemory, kVideo };

class Device {
 public:
  static unsigned count();
  static std::string driver();
  static std::string cuda();  ///< "13.2"

  explicit Device(unsigned index);
  unsigned index() const { return index_; }
  std::string name() const;
  std::string uuid() const;
  PciInfo pci() const;
  std::string capability() const;  ///< "9.0"
  std::optional<unsigned long long> number(Number which) const;
  std::optional<unsigned> clock(Clock which) const;
  std::optional<unsigned> temperature() const;
  std::optional<Utilization> utilization() const;
  std::optional<MemoryInfo> memory() const;
  std::optional<bool> ecc() const;
  std::optional<bool> mig() const;
  std::vector<ProcessInfo> processes() const;
  /// NVLinks to another device, by a switch or directly; 0: none.
  unsigned links_to(const Device& other) const;
  static std::string process_name(unsigned process);

 private:
  unsigned index_;
  void* handle_ = nullptr;
};

}  // namespace flopcast::smi
