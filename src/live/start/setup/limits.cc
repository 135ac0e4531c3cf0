// What the machine has to have for a live run.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "flopcast/live/setup.h"
#include "live/wire/socket.h"

namespace flopcast {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

/// As the kernel reckons what new programs may have.
std::int64_t left_of_machine() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    if (words >> name >> kib && name == "MemAvailable:") return kib * 1024;
  }
  return static_cast<std::int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

/// A container may have less than its machine.
std::int64_t left_of_group(std::int64_t machine) {
  const auto most = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  return most && used ? std::min(machine, std::max<std::int64_t>(*most - *used, 0)) : machine;
}

}  // namespace

LiveMemory live_memory(std::uint32_t ranks, bool forked, bool with_torch) {
  LiveMemory memory;
  memory.available = left_of_group(left_of_machine());
  // An imported PyTorch, and what a rank of it has for itself (docs/theory/live.md has the measurements).
  const std::int64_t shared = with_torch && forked ? 520 * kMiB : 0;
  const std::int64_t own = !with_torch ? 16 * kMiB : forked ? 140 * kMiB : 320 * kMiB;
  memory.needed = shared + own * ranks;
  return memory;
}

std::optional<Diagnostic> live_obstacle() {
  const live::Descriptor memory(::memfd_create("flopcast", MFD_CLOEXEC));
  if (memory && ::ftruncate(memory.get(), kMiB) == 0) return std::nullopt;
  return Diagnostic{ErrorCode::kBadInput, "shared memory",
                    fmt::format("cannot be made: memfd_create says {}", std::strerror(errno)),
                    "live runs need Linux 3.17 or later, and a sandbox that allows memfd_create"};
}

}  // namespace flopcast
