// Fields of frames that are more than a few numbers.
#pragma once

#include <cstdint>

#include "live/wire/mail.h"
#include "live/wire/region.h"

namespace flopcast::live {

/// Who comes, and whether both sides mean the same by what they send. Its layout changes with the version.
struct JoinFrame {
  static constexpr std::uint64_t kMagic = 0x746d74736f666c66;
  static constexpr std::uint32_t kVersion = 1;
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t region = Region::kVersion;
  std::uint64_t layout = sizeof(Region) ^ std::uint64_t{sizeof(Common)} << 32;
  std::uint64_t words =
      0;  ///< of the command that was started there, in one number: all machines are started with the same
  std::uint32_t machine = 0, machines = 0;
  char token[128] = {};
  char name[64] = {};  ///< of the machine, for messages

  bool understands() const {
    const JoinFrame own;
    return magic == own.magic && version == own.version && region == own.region &&
           layout == own.layout;
  }
};

/// What a machine's processes are told of the run.
struct WelcomeFrame {
  DeviceFacts device;
  HostCosts host;
  Machines machines;  ///< `own` is the machine's that is told
  std::int64_t start_ns = 0;
  double host_factor = 0;
  std::uint32_t devices = 0;  ///< of a node
  std::uint16_t port = 0;     ///< of the program's own store, on the first machine
};

/// What the region of a process says besides its records.
struct LineState {
  std::uint32_t ended = 0;
  std::uint64_t most_memory[Region::kDevices] = {};
  std::uint64_t reads = 0, bytes = 0, assumed = 0;  ///< as TaintedReads has them
  std::uint32_t stretches = 0;                      ///< as HostWork counts them
};

/// A letter on its way.
struct LetterHead {
  std::uint64_t key = 0;  ///< of its chain
  std::uint64_t letter = 0;
  std::uint64_t bytes = 0;
  std::uint32_t readers = 0;  ///< on all machines
  std::uint32_t ranges = 0;
};

/// Letters are known by the machine that they were written on and their place there.
inline constexpr unsigned kPlaceBits = 48;
inline std::uint64_t letter_of(std::uint32_t machine, LetterPlace place) {
  return std::uint64_t{machine} << kPlaceBits | place;
}
inline std::uint32_t machine_of(std::uint64_t letter) {
  return static_cast<std::uint32_t>(letter >> kPlaceBits);
}
static_assert(kSharedBegin < std::uint64_t{1} << kPlaceBits);

}  // namespace flopcast::live
