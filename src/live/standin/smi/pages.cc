// The pages of nvidia-smi that people read.
#include <cstdio>
#include <ctime>

#include "live/standin/smi/report.h"

namespace flopcast::smi {
namespace {

constexpr double kMiB = 1 << 20;

unsigned mib(unsigned long long bytes) {
  return static_cast<unsigned>(static_cast<double>(bytes) / kMiB);
}
template <typename... Parts>
std::string printed(const char* format, Parts... parts) {
  std::string text(256, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, parts...)));
  return text;
}
std::string watt(std::optional<unsigned long long> milliwatt) {
  return milliwatt ? printed("%lluW", *milliwatt / 1000) : "N/A";
}
std::string enabled(std::optional<bool> on) { return !on ? "N/A" : *on ? "Enabled" : "Disabled"; }

constexpr const char* kRule =
    "+-----------------------------------------+------------------------+----------------------+";

void print_device(const Device& d) {
  const auto memory = d.memory();
  const auto shares = d.utilization();
  const auto celsius = d.temperature();
  const std::string degrees = celsius ? printed("%uC", *celsius) : "N/A";
  const std::string power =
      watt(d.number(Number::kPower)) + " / " + watt(d.number(Number::kPowerLimit));
  const std::string used =
      memory ? printed("%uMiB / %6uMiB", mib(memory->used), mib(memory->total)) : "N/A";
  const std::string busy = shares ? printed("%u%%", shares->gpu) : "N/A";
  const std::string ecc = !d.ecc() ? "N/A" : *d.ecc() ? "0" : "Off";
  std::printf("| %3u  %-24.24s       On  |   %16s Off | %20s |\n", d.index(), d.name().c_str(),
              d.pci().id, ecc.c_str());
  std::printf("| N/A  %4s    P0    %18s | %22s | %9s      Default |\n", degrees.c_str(),
              power.c_str(), used.c_str(), busy.c_str());
  std::printf("|                                         |                        | %20s |\n%s\n",
              enabled(d.mig()).c_str(), kRule);
}

/// Three columns of a matrix: how two devices are joined.
std::string relation(const Device& one, const Device& other) {
  if (one.index() == other.index()) return "X";
  const unsigned links = one.links_to(other);
  return links > 0 ? printed("NV%u", links) : "SYS";
}

void row(const char* name, const std::string& value) {
  std::printf("    %-38s: %s\n", name, value.c_str());
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (bool more = true; more;) {
    const std::size_t end = text.find(at);
    more = end != text.npos;
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (more) text.remove_prefix(end + 1);
  }
  return parts;
}

std::string now(const char* format) {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&time, &parts);
  std::string text(64, '\0');
  text.resize(std::strftime(text.data(), text.size(), format, &parts));
  return text;
}

void print_list(const std::vector<Device>& devices) {
  for (const Device& d : devices)
    std::printf("GPU %u: %s (UUID: %s)\n", d.index(), d.name().c_str(), d.uuid().c_str());
}

void print_table(const std::vector<Device>& devices) {
  const std::string driver = Device::driver();
  std::printf("%s\n", now("%a %b %e %H:%M:%S %Y").c_str());
  std::printf(
      "+-----------------------------------------------------------------------------------------+"
      "\n"
      "| NVIDIA-SMI %-19s Driver Version: %-14s CUDA Version: %-11s |\n%s\n"
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC "
      "|\n"
      "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. "
      "|\n"
      "|                                         |                        |               MIG M. "
      "|\n"
      "|=========================================+========================+======================|"
      "\n",
      driver.c_str(), driver.c_str(), Device::cuda().c_str(), kRule);
  for (const Device& device : devices) print_device(device);
  std::printf(
      "\n"
      "+-----------------------------------------------------------------------------------------+"
      "\n"
      "| Processes:                                                                              "
      "|\n"
      "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory "
      "|\n"
      "|        ID   ID                                                               Usage      "
      "|\n"
      "|=========================================================================================|"
      "\n");
  bool any = false;
  for (const Device& device : devices) {
    for (const ProcessInfo& process : device.processes()) {
      any = true;
      std::printf("| %4u   N/A  N/A %16u      C   %-31.31s %10uMiB |\n", device.index(),
                  process.process, Device::process_name(process.process).c_str(),
                  mib(process.memory));
    }
  }
  if (!any) std::printf("|  %-87s|\n", "No running processes found");
  std::printf(
      "+-----------------------------------------------------------------------------------------"
      "+\n");
}

void print_details(const std::vector<Device>& devices) {
  std::printf("\n==============NVSMI LOG==============\n\n");
  std::printf("%-42s: %s\n", "Timestamp", now("%a %b %e %H:%M:%S %Y").c_str());
  std::printf("%-42s: %s\n%-42s: %s\n\n", "Driver Version", Device::driver().c_str(),
              "CUDA Version", Device::cuda().c_str());
  std::printf("%-42s: %zu\n", "Attached GPUs", devices.size());
  for (const Device& d : devices) {
    const auto memory = d.memory();
    const auto shares = d.utilization();
    const auto celsius = d.temperature();
    const auto clock = d.clock(Clock::kSm);
    const auto in_mib = [&](unsigned long long MemoryInfo::*part) {
      return memory ? printed("%u MiB", mib((*memory).*part)) : "N/A";
    };
    const auto in_percent = [&](unsigned Utilization::*part) {
      return shares ? printed("%u %%", (*shares).*part) : "N/A";
    };
    std::printf("GPU %s\n", d.pci().id);
    row("Product Name", d.name());
    row("Persistence Mode", "Enabled");
    row("GPU UUID", d.uuid());
    row("Minor Number", std::to_string(d.index()));
    row("MIG Mode", enabled(d.mig()));
    row("ECC Mode", enabled(d.ecc()));
    row("Performance State", "P0");
    row("FB Memory Total", in_mib(&MemoryInfo::total));
    row("FB Memory Used", in_mib(&MemoryInfo::used));
    row("FB Memory Free", in_mib(&MemoryInfo::free));
    row("GPU Utilization", in_percent(&Utilization::gpu));
    row("Memory Utilization", in_percent(&Utilization::memory));
    row("GPU Current Temp", celsius ? printed("%u C", *celsius) : "N/A");
    row("Power Draw", watt(d.number(Number::kPower)));
    row("Current Power Limit", watt(d.number(Number::kPowerLimit)));
    row("SM Clock", clock ? printed("%u MHz", *clock) : "N/A");
    for (const ProcessInfo& process : d.processes()) {
      row("Process ID", std::to_string(process.process));
      row("    Name", Device::process_name(process.process));
      row("    Used GPU Memory", printed("%u MiB", mib(process.memory)));
    }
    std::printf("\n");
  }
}

void print_topology(const std::vector<Device>& devices) {
  std::string line;
  for (const Device& d : devices) line += printed("\tGPU%u", d.index());
  std::puts(line.c_str());
  for (const Device& one : devices) {
    line = printed("GPU%u", one.index());
    for (const Device& other : devices) line += '\t' + relation(one, other);
    std::puts(line.c_str());
  }
  std::puts(
      "\nLegend:\n\n"
      "  X    = Self\n"
      "  SYS  = Connection through the host; where its sockets and bridges are is not known\n"
      "  NV#  = Connection traversing a bonded set of # NVLinks");
}

}  // namespace flopcast::smi
