// Device memory that a program hands to other processes: it lies in the file that all processes of a run share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace flopcast::live {

/// What another process has to know of it. Programs carry it in their handles.
struct SharedPart {
  std::uint64_t mark = 0;                ///< kMark, so that a damaged handle is none
  std::uint64_t place = 0;               ///< in the file: its validity, then its bytes
  std::uint64_t bytes = 0;               ///< of whole pages of a device
  std::uint64_t offset = 0, length = 0;  ///< of the block that the handle is for
  std::int32_t owner = 0;                ///< process that made it
  std::int32_t device = 0;               ///< that holds it, of that process
  std::int32_t rank = 0;                 ///< that process's
  std::uint32_t machine = 0;             ///< that it is on, of the run's

  static constexpr std::uint64_t kMark = 0x666c6f7063617374;
};
static_assert(sizeof(SharedPart) <= 64);

/// What a handle carries.
inline SharedPart part_in(const void* handle) {
  unsigned char bytes[sizeof(SharedPart)];
  std::memcpy(bytes, handle, sizeof bytes);
  return std::bit_cast<SharedPart>(bytes);
}

/// Memory of this process, at whole pages of a device, lies in the file from now on, with what is valid of it.
/// @param device that holds it
/// @return where; none if the file is full or cannot be mapped
std::optional<SharedPart> share_memory(void* address, std::size_t bytes, int device);
/// Somebody's part appears at this address, in place of what is there. @return false if it is none, or cannot be mapped
bool map_shared(const SharedPart& part, void* address);
/// The part that an address of this process lies in; its offset is the address's.
std::optional<SharedPart> shared_part_at(const void* address);
/// This process no longer has it there. The address space is the caller's; if the memory was this process's own, it
/// is nobody's from now on.
void unmap_shared(void* address);

}  // namespace flopcast::live
