// What the machine has to have for a live run.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files/memory_left.h"
#include "base/text/format.h"
#include "flopcast/live/setup.h"
#include "live/wire/socket.h"

namespace flopcast {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

}  // namespace

LiveMemory live_memory(std::uint32_t ranks, bool forked, bool with_torch) {
  LiveMemory memory;
  memory.available = memory_left();
  // An imported PyTorch, and what a rank of it has for itself (docs/theory/live.md has the measurements).
  const std::int64_t shared = with_torch && forked ? 520 * kMiB : 0;
  const std::int64_t own = !with_torch ? 16 * kMiB : forked ? 140 * kMiB : 320 * kMiB;
  memory.needed = shared + own * ranks;
  return memory;
}

std::optional<Diagnostic> memory_problem(std::uint32_t ranks, bool forked, bool with_torch) {
  const LiveMemory memory = live_memory(ranks, forked, with_torch);
  if (memory.needed <= memory.available) return std::nullopt;
  return Diagnostic{ErrorCode::kTooLarge, "memory",
                    fmt::format("{} need about {}, and {} are free", counted(ranks, "rank"),
                                short_bytes(memory.needed), short_bytes(memory.available)),
                    "start fewer with --ranks, let ranks stand for those that are like them with "
                    "--fold auto, or end other programs"};
}

std::optional<Diagnostic> live_obstacle() {
  const live::Descriptor memory(::memfd_create("flopcast", MFD_CLOEXEC));
  if (memory && ::ftruncate(memory.get(), kMiB) == 0) return std::nullopt;
  return Diagnostic{ErrorCode::kBadInput, "shared memory",
                    fmt::format("cannot be made: memfd_create says {}", std::strerror(errno)),
                    "live runs need Linux 3.17 or later, and a sandbox that allows memfd_create"};
}

}  // namespace flopcast
