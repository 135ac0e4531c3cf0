// Memory that programs got from the stand-ins: where it is, whose it is, and how full a device is.
//
// Device memory is ordinary memory of the process that is touched only where bytes really matter: 40 GB
// of weights that nobody reads take no page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace flopcast::live {

enum class Place : std::uint8_t {
  kDevice,
  kPinned,
  kRegistered,
  kManaged,
  kMapped,  ///< of a device, at an address that the program reserved
};
/// Whether a device holds it.
inline bool of_device(Place place) {
  return place == Place::kDevice || place == Place::kManaged || place == Place::kMapped;
}

struct Block {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;  ///< as asked for
  std::size_t taken = 0;  ///< as taken from the device
  Place place = Place::kDevice;
  int device = 0;
};

class Memory {
 public:
  /// Allocations of at least so much take whole pages of it; smaller ones share one.
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  static Memory& get();

  /// @return none if the device has not so much left
  std::optional<Block> allocate(std::size_t bytes, int device, Place place);
  /// Memory that the program already has. @return false if some of it is known already
  bool add(void* address, std::size_t bytes, int device);
  /// @return what it was; none if no block begins there
  std::optional<Block> free(void* address);
  /// Memory of the device without an address yet (cuMemCreate). @return false if there is not so much left
  bool charge(int device, std::size_t bytes);
  void give_back(int device, std::size_t bytes);
  /// Address space without memory of a device.
  static void* reserve(std::size_t bytes);
  /// Device memory that was charged is at this address from now on.
  void map(void* address, std::size_t bytes, int device);

  /// The block that an address lies in.
  std::optional<Block> find(const void* address) const;
  /// Bytes from there to the end of memory without a gap: of the block, or of mapped ones one behind the other, which
  /// are one piece to kernels (PyTorch's expandable segments map 20 MiB at a time). 0: no memory
  std::size_t left(const void* address) const;

  std::size_t used(int device) const;
  /// What a device has for programs.
  static std::size_t capacity();
  /// The engine is told what the process has of a device, if that has changed.
  void tell_used(int device);
  /// A process begins to use a device: its context lies there from now on.
  void open(int device);

 private:
  struct Level {
    std::size_t used = 0, most = 0, told = 0;
    bool open = false;
  };
  bool has_left(int device, std::size_t bytes);
  void open_locked(int device);
  std::optional<Block> carve(std::size_t bytes, int device);
  void take(int device, std::size_t bytes);
  void join(const Block& mapped);
  void part(const Block& mapped);

  mutable std::mutex lock_;
  std::map<std::uintptr_t, Block> blocks_;  ///< by address
  std::map<int, Level> levels_;             ///< by device
  struct Span {
    std::uintptr_t end = 0;
    int device = 0;
  };
  std::map<std::uintptr_t, Span> spans_;  ///< what is mapped without a gap, by address
  /// Small blocks: pages by device, and what is free in them, by address.
  struct Page {
    std::map<std::uintptr_t, std::size_t> free;  ///< address, bytes
  };
  std::map<std::pair<int, std::uintptr_t>, Page> pages_;
};

}  // namespace flopcast::live
