// Device bytes that somebody else still has to bring: what a collective receives. Whoever looks at device memory, writes
// it or frees it says so here first.
#pragma once

#include <cstddef>

namespace flopcast::live {

/// Those who bring them. There is one at most in a process.
class LateBytes {
 public:
  virtual ~LateBytes() = default;
  /// These bytes are read: waits until they are there.
  virtual void settle(const void* at, std::size_t bytes) = 0;
  /// These bytes are overwritten, or freed: what would be brought there later is not.
  virtual void overwrite(const void* at, std::size_t bytes) = 0;

  static void set(LateBytes* one);
};

/// To be called before device bytes are read.
void settle_bytes(const void* at, std::size_t bytes);
/// To be called before all of these bytes are written or freed.
void overwrite_bytes(const void* at, std::size_t bytes);

}  // namespace flopcast::live
