// nvidia-smi --query-gpu and --query-compute-apps.
#include <algorithm>
#include <cstdio>

#include "live/standin/smi/report.h"

namespace flopcast::smi {
namespace {

constexpr double kMiB = 1 << 20;
constexpr const char* kNone = "[N/A]";

template <typename Value>
std::string or_none(const std::optional<Value>& value) {
  return value ? std::to_string(*value) : kNone;
}
std::string on_or_off(std::optional<bool> on) { return !on ? kNone : *on ? "Enabled" : "Disabled"; }
std::string in_mib(unsigned long long bytes) {
  return std::to_string(static_cast<unsigned long long>(static_cast<double>(bytes) / kMiB));
}
std::string in_watt(std::optional<unsigned long long> milliwatt) {
  if (!milliwatt) return kNone;
  std::string text(32, '\0');
  text.resize(static_cast<std::size_t>(
      std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(*milliwatt) / 1000)));
  return text;
}
std::string hex(unsigned value, int digits) {
  std::string text(32, '\0');
  text.resize(
      static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "0x%0*X", digits, value)));
  return text;
}

template <Number kWhich>
std::string number(const Device& d) {
  return or_none(d.number(kWhich));
}
template <Number kWhich>
std::string watt(const Device& d) {
  return in_watt(d.number(kWhich));
}
template <Number kWhich>
std::string switched(const Device& d) {
  const auto on = d.number(kWhich);
  return on_or_off(on ? std::optional<bool>(*on != 0) : std::nullopt);
}
template <Clock kWhich>
std::string mhz(const Device& d) {
  return or_none(d.clock(kWhich));
}
template <unsigned long long MemoryInfo::*kPart>
std::string mib(const Device& d) {
  const auto memory = d.memory();
  return memory ? in_mib((*memory).*kPart) : kNone;
}
template <unsigned Utilization::*kPart>
std::string percent(const Device& d) {
  const auto shares = d.utilization();
  return shares ? std::to_string((*shares).*kPart) : kNone;
}
std::string none(const Device&) { return kNone; }

/// What may be asked of a device, under how many names.
struct Field {
  std::string_view name, other;
  const char* unit;
  std::string (*value)(const Device&);
};
constexpr Field kFields[] = {
    {"timestamp", "", "", [](const Device&) { return now("%Y/%m/%d %H:%M:%S.000"); }},
    {"driver_version", "", "", [](const Device&) { return Device::driver(); }},
    {"count", "", "", [](const Device&) { return std::to_string(Device::count()); }},
    {"name", "gpu_name", "", [](const Device& d) { return d.name(); }},
    {"index", "", "", [](const Device& d) { return std::to_string(d.index()); }},
    {"uuid", "gpu_uuid", "", [](const Device& d) { return d.uuid(); }},
    {"serial", "gpu_serial", "", none},
    {"vbios_version", "", "", none},
    {"pci.bus_id", "gpu_bus_id", "", [](const Device& d) { return std::string(d.pci().id); }},
    {"pci.domain", "", "", [](const Device& d) { return hex(d.pci().domain, 4); }},
    {"pci.bus", "", "", [](const Device& d) { return hex(d.pci().bus, 2); }},
    {"pci.device", "", "", [](const Device& d) { return hex(d.pci().device, 2); }},
    {"pcie.link.gen.current", "pcie.link.gen.gpucurrent", "", number<Number::kPcieGeneration>},
    {"pcie.link.gen.max", "pcie.link.gen.gpumax", "", number<Number::kPcieGenerationMost>},
    {"pcie.link.width.current", "", "", number<Number::kPcieWidth>},
    {"pcie.link.width.max", "", "", number<Number::kPcieWidthMost>},
    {"compute_cap", "", "", [](const Device& d) { return d.capability(); }},
    {"persistence_mode", "", "", switched<Number::kPersistence>},
    {"display_mode", "", "", switched<Number::kDisplayMode>},
    {"display_active", "", "", switched<Number::kDisplayActive>},
    {"compute_mode", "", "",
     [](const Device& d) {
       return std::string(d.number(Number::kComputeMode) == 0ULL ? "Default" : kNone);
     }},
    {"pstate", "", "",
     [](const Device& d) {
       const auto state = d.number(Number::kState);
       return state ? "P" + std::to_string(*state) : std::string(kNone);
     }},
    {"mig.mode.current", "", "", [](const Device& d) { return on_or_off(d.mig()); }},
    {"mig.mode.pending", "", "", [](const Device& d) { return on_or_off(d.mig()); }},
    {"ecc.mode.current", "", "", [](const Device& d) { return on_or_off(d.ecc()); }},
    {"ecc.mode.pending", "", "", [](const Device& d) { return on_or_off(d.ecc()); }},
    {"fan.speed", "", "%", number<Number::kFan>},
    {"memory.total", "", "MiB", mib<&MemoryInfo::total>},
    {"memory.reserved", "", "MiB", [](const Device&) { return std::string("0"); }},
    {"memory.used", "", "MiB", mib<&MemoryInfo::used>},
    {"memory.free", "", "MiB", mib<&MemoryInfo::free>},
    {"utilization.gpu", "", "%", percent<&Utilization::gpu>},
    {"utilization.memory", "", "%", percent<&Utilization::memory>},
    {"temperature.gpu", "", "", [](const Device& d) { return or_none(d.temperature()); }},
    {"temperature.memory", "", "", none},
    {"power.management", "", "",
     [](const Device& d) {
       return std::string(d.number(Number::kPowerLimit) ? "Enabled" : kNone);
     }},
    {"power.draw", "", "W", watt<Number::kPower>},
    {"power.draw.average", "", "W", watt<Number::kPower>},
    {"power.draw.instant", "", "W", watt<Number::kPower>},
    {"power.limit", "", "W", watt<Number::kPowerLimit>},
    {"enforced.power.limit", "", "W", watt<Number::kPowerEnforced>},
    {"power.default_limit", "", "W", watt<Number::kPowerDefaultLimit>},
    {"power.min_limit", "", "W", none},
    {"power.max_limit", "", "W", none},
    {"clocks.current.graphics", "clocks.gr", "MHz", mhz<Clock::kGraphics>},
    {"clocks.current.sm", "clocks.sm", "MHz", mhz<Clock::kSm>},
    {"clocks.current.memory", "clocks.mem", "MHz", mhz<Clock::kMemory>},
    {"clocks.current.video", "clocks.video", "MHz", mhz<Clock::kVideo>},
    {"clocks.max.graphics", "clocks.max.gr", "MHz", mhz<Clock::kGraphics>},
    {"clocks.max.sm", "", "MHz", mhz<Clock::kSm>},
    {"clocks.max.memory", "clocks.max.mem", "MHz", mhz<Clock::kMemory>},
    {"clocks_event_reasons.active", "clocks_throttle_reasons.active", "",
     [](const Device& d) {
       const auto reasons = d.number(Number::kSlowReasons);
       return reasons ? hex(static_cast<unsigned>(*reasons), 16) : std::string(kNone);
     }},
};

/// What may be asked of a process on a device.
struct ProcessField {
  std::string_view name, other;
  const char* unit;
  std::string (*value)(const Device&, const ProcessInfo&);
};
constexpr ProcessField kProcessFields[] = {
    {"timestamp", "", "",
     [](const Device&, const ProcessInfo&) { return now("%Y/%m/%d %H:%M:%S.000"); }},
    {"pid", "", "", [](const Device&, const ProcessInfo& p) { return std::to_string(p.process); }},
    {"process_name", "name", "",
     [](const Device&, const ProcessInfo& p) { return Device::process_name(p.process); }},
    {"used_memory", "used_gpu_memory", "MiB",
     [](const Device&, const ProcessInfo& p) { return in_mib(p.memory); }},
    {"gpu_uuid", "", "", [](const Device& d, const ProcessInfo&) { return d.uuid(); }},
    {"gpu_name", "", "", [](const Device& d, const ProcessInfo&) { return d.name(); }},
    {"gpu_bus_id", "", "",
     [](const Device& d, const ProcessInfo&) { return std::string(d.pci().id); }},
    {"gpu_serial", "", "", [](const Device&, const ProcessInfo&) { return std::string(kNone); }},
};

/// The fields that a list names; the name of one that there is not.
template <typename Known, std::size_t kCount>
Unknown find_fields(const Known (&known)[kCount], std::string_view names,
                    std::vector<const Known*>& found) {
  for (const std::string_view name : split(names, ',')) {
    const auto one = std::find_if(std::begin(known), std::end(known), [name](const Known& field) {
      return !name.empty() && (field.name == name || field.other == name);
    });
    if (one == std::end(known)) return std::string(name);
    found.push_back(one);
  }
  return std::nullopt;
}

template <typename Known>
void print_header(const std::vector<const Known*>& fields, const Format& format) {
  if (!format.header) return;
  std::string line;
  for (const Known* field : fields) {
    line += (line.empty() ? "" : ", ") + std::string(field->name);
    if (*field->unit != 0) line += std::string(" [") + field->unit + "]";
  }
  std::puts(line.c_str());
}

template <typename Known, typename... Of>
void print_line(const std::vector<const Known*>& fields, const Format& format, const Of&... of) {
  std::string line;
  for (const Known* field : fields) {
    const std::string value = field->value(of...);
    line += (line.empty() ? "" : ", ") + value;
    if (format.units && *field->unit != 0 && value != kNone) line += std::string(" ") + field->unit;
  }
  std::puts(line.c_str());
}

}  // namespace

Unknown print_devices(const std::vector<Device>& devices, std::string_view fields,
                      const Format& format) {
  std::vector<const Field*> found;
  if (auto unknown = find_fields(kFields, fields, found)) return unknown;
  print_header(found, format);
  for (const Device& device : devices) print_line(found, format, device);
  return std::nullopt;
}

Unknown print_processes(const std::vector<Device>& devices, std::string_view fields,
                        const Format& format) {
  std::vector<const ProcessField*> found;
  if (auto unknown = find_fields(kProcessFields, fields, found)) return unknown;
  print_header(found, format);
  for (const Device& device : devices) {
    for (const ProcessInfo& process : device.processes())
      print_line(found, format, device, process);
  }
  return std::nullopt;
}

}  // namespace flopcast::smi
