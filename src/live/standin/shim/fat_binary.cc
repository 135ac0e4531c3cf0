#include "live/standin/shim/fat_binary.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace flopcast::live {
namespace {

constexpr std::uint32_t kFatBinary = 0xba55ed50, kFatWrapper = 0x466243b1;

struct FatWrapper {
  std::uint32_t mark, version;
  const unsigned char* binary;
};
struct FatHead {
  std::uint32_t mark;
  std::uint16_t version, head_bytes;
  std::uint64_t bytes;  ///< of all parts, without this head
};
/// Ahead of each part.
struct FatPart {
  std::uint16_t kind, form;
  std::uint32_t head_bytes;
  std::uint64_t bytes;
  std::uint32_t packing[3];
  std::uint32_t version;
  std::uint32_t name[2];
  std::uint64_t flags;
};
constexpr std::uint16_t kAssembly = 1, kCubin = 2;
/// Code that uses what chips of just this version have (sm_90a).
constexpr std::uint64_t kOfThisChipAlone = 0x100000;

template <typename T>
T read_fat(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

bool is_fat_binary(const void* code) {
  const auto mark = read_fat<std::uint32_t>(code);
  return mark == kFatBinary || mark == kFatWrapper;
}

/// Code of the chip's major runs on it if it is not newer than the chip, and the newest counts. Without any, the newest
/// assembly is compiled for the chip.
std::optional<CodeVersions> versions_for(const void* wrapper, int chip) {
  if (!wrapper || read_fat<std::uint32_t>(wrapper) != kFatWrapper) return std::nullopt;
  const unsigned char* at = read_fat<FatWrapper>(wrapper).binary;
  const auto head = read_fat<FatHead>(at);
  if (head.mark != kFatBinary || head.head_bytes < sizeof(FatHead)) return std::nullopt;
  at += head.head_bytes;
  int assembly = 0, binary = 0;
  for (std::uint64_t left = head.bytes; left > 0;) {
    if (left < sizeof(FatPart)) return std::nullopt;
    const auto part = read_fat<FatPart>(at);
    const std::uint64_t whole = part.head_bytes + part.bytes;
    if (part.head_bytes < sizeof(FatPart) || whole < part.bytes || whole > left)
      return std::nullopt;
    at += whole;
    left -= whole;
    const int version = static_cast<int>(part.version);
    if (version > chip || ((part.flags & kOfThisChipAlone) != 0 && version != chip)) continue;
    if (part.kind == kAssembly) assembly = std::max(assembly, version);
    if (part.kind == kCubin && version / 10 == chip / 10) binary = std::max(binary, version);
  }
  if (binary > 0) return CodeVersions{binary, binary};
  return assembly > 0 ? CodeVersions{assembly, chip} : CodeVersions{};
}

}  // namespace flopcast::live
