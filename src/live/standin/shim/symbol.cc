// Variables of the program's own device code, by the variable of the host that stands for each.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "live/standin/api/api.h"
#include "live/standin/memory/memory.h"
#include "live/standin/shim/copy.h"

namespace flopcast::live {
namespace {

struct Variable {
  std::size_t bytes = 0;
  std::map<int, void*> places;  ///< by device
};
class Variables {
 public:
  static Variables& get() {
    static Variables* const variables = new Variables;
    return *variables;
  }
  void add(const void* host, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    known_[host].bytes = bytes;
  }
  std::optional<std::size_t> bytes_of(const void* host) {
    const std::lock_guard guard(lock_);
    const auto found = known_.find(host);
    return found == known_.end() ? std::nullopt : std::optional(found->second.bytes);
  }
  int place_of(const void* host, void** place) {
    const std::lock_guard guard(lock_);
    const auto found = known_.find(host);
    if (found == known_.end()) return kInvalidSymbol;
    void*& own = found->second.places[current_device()];
    if (!own) {
      const auto block = Memory::get().allocate(std::max<std::size_t>(1, found->second.bytes),
                                                current_device(), Place::kDevice);
      if (!block) return kOutOfMemory;
      own = reinterpret_cast<void*>(block->address);
    }
    *place = own;
    return kSuccess;
  }

 private:
  std::mutex lock_;
  std::map<const void*, Variable> known_;
};

int copy_to_symbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                   int direction, void* stream, bool waits) {
  void* place = nullptr;
  if (const int status = Variables::get().place_of(symbol, &place)) return status;
  void* const to = static_cast<char*>(place) + offset;
  return put_copy(work_of_copy(to, from, bytes, direction), to, stream, waits);
}

int copy_from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                     int direction, void* stream, bool waits) {
  void* place = nullptr;
  if (const int status = Variables::get().place_of(symbol, &place)) return status;
  const void* const from = static_cast<char*>(place) + offset;
  return put_copy(work_of_copy(to, from, bytes, direction), to, stream, waits);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API void __cudaRegisterVar(void**, char* host, char*, const char*, int, std::size_t bytes,
                                    int, int) {
  Variables::get().add(host, bytes);
}
FLOPCAST_API int cudaGetSymbolAddress(void** address, const void* symbol) {
  return remembered(Variables::get().place_of(symbol, address));
}
FLOPCAST_API int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  const auto known = Variables::get().bytes_of(symbol);
  if (!known) return remembered(kInvalidSymbol);
  *bytes = *known;
  return kSuccess;
}

FLOPCAST_API int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, int direction) {
  return remembered(copy_to_symbol(symbol, from, bytes, offset, direction, nullptr, true));
}
FLOPCAST_API int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                         std::size_t offset, int direction, void* stream) {
  return remembered(copy_to_symbol(symbol, from, bytes, offset, direction, stream, false));
}
FLOPCAST_API int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, int direction) {
  return remembered(copy_from_symbol(to, symbol, bytes, offset, direction, nullptr, true));
}
FLOPCAST_API int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                           std::size_t offset, int direction, void* stream) {
  return remembered(copy_from_symbol(to, symbol, bytes, offset, direction, stream, false));
}
