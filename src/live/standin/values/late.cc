#include "live/standin/values/late.h"

#include <atomic>

namespace flopcast::live {
namespace {

std::atomic<LateBytes*> late_bytes{nullptr};

}  // namespace

void LateBytes::set(LateBytes* one) { late_bytes.store(one, std::memory_order_release); }

void settle_bytes(const void* at, std::size_t bytes) {
  if (LateBytes* const late = late_bytes.load(std::memory_order_acquire)) late->settle(at, bytes);
}

void overwrite_bytes(const void* at, std::size_t bytes) {
  if (LateBytes* const late = late_bytes.load(std::memory_order_acquire))
    late->overwrite(at, bytes);
}

}  // namespace flopcast::live
