// Memory pools: whose an allocation is, and how much of it. What is freed goes back to the device at once, as after a
// synchronisation where a pool's release threshold is zero.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "live/standin/api/api.h"
#include "live/standin/memory/memory.h"

namespace flopcast::live {
namespace {

/// cudaMemPoolAttr
enum PoolAttribute : int {
  kReleaseThreshold = 4,
  kReservedNow = 5,
  kReservedMost = 6,
  kUsedNow = 7,
  kUsedMost = 8,
};

struct Pool {
  int device = 0;
  std::uint64_t threshold = 0, used = 0, most = 0;
  std::map<int, int> reuse;  ///< cudaMemPoolReuse..., which change nothing here
};
Pool& pool_of(void* pool) { return *static_cast<Pool*>(pool); }

class Pools {
 public:
  static Pools& get() {
    static Pools* const pools = new Pools;
    return *pools;
  }
  Pool* of_device(int device) {
    const std::lock_guard guard(lock_);
    Pool*& own = current_[device];
    if (!own) own = &defaults_.try_emplace(device, Pool{device, 0, 0, 0, {}}).first->second;
    return own;
  }
  Pool* default_of(int device) {
    of_device(device);
    const std::lock_guard guard(lock_);
    return &defaults_.try_emplace(device, Pool{device, 0, 0, 0, {}}).first->second;
  }
  void use(int device, Pool* pool) {
    const std::lock_guard guard(lock_);
    current_[device] = pool;
  }
  void took(Pool& pool, const void* address, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    owners_[address] = {&pool, bytes};
    pool.used += bytes;
    pool.most = std::max(pool.most, pool.used);
  }
  void gave_back(const void* address) {
    const std::lock_guard guard(lock_);
    const auto owner = owners_.find(address);
    if (owner == owners_.end()) return;
    owner->second.first->used -= owner->second.second;
    owners_.erase(owner);
  }
  void forget(const Pool* pool) {
    const std::lock_guard guard(lock_);
    std::erase_if(owners_, [pool](const auto& one) { return one.second.first == pool; });
    std::erase_if(current_, [pool](const auto& one) { return one.second == pool; });
  }

 private:
  std::mutex lock_;
  std::map<int, Pool> defaults_;
  std::map<int, Pool*> current_;
  std::map<const void*, std::pair<Pool*, std::size_t>> owners_;
};

int get_pool_attribute(const Pool& pool, int attribute, void* out) {
  if (attribute < kReleaseThreshold) {
    const auto set = pool.reuse.find(attribute);
    *static_cast<int*>(out) = set == pool.reuse.end() ? 1 : set->second;
    return kSuccess;
  }
  std::uint64_t value = 0;
  if (attribute == kReleaseThreshold) value = pool.threshold;
  if (attribute == kReservedNow || attribute == kUsedNow) value = pool.used;
  if (attribute == kReservedMost || attribute == kUsedMost) value = pool.most;
  if (attribute > kUsedMost) return kInvalidValue;
  std::memcpy(out, &value, sizeof value);
  return kSuccess;
}

int set_pool_attribute(Pool& pool, int attribute, const void* in) {
  if (attribute == kReleaseThreshold) std::memcpy(&pool.threshold, in, sizeof pool.threshold);
  if (attribute < kReleaseThreshold) pool.reuse[attribute] = *static_cast<const int*>(in);
  // Peaks may be set to zero: they begin anew.
  if (attribute == kReservedMost || attribute == kUsedMost) pool.most = pool.used;
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaMalloc(void** pointer, std::size_t bytes);
FLOPCAST_API int cudaFree(void* pointer);
FLOPCAST_API int cudaSetDevice(int device);

FLOPCAST_API int cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, void*) {
  const int device = current_device();
  cudaSetDevice(pool_of(pool).device);
  const int status = cudaMalloc(pointer, bytes);
  cudaSetDevice(device);
  if (status == kSuccess && *pointer) Pools::get().took(pool_of(pool), *pointer, bytes);
  return status;
}
FLOPCAST_API int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream) {
  return cudaMallocFromPoolAsync(pointer, bytes, Pools::get().of_device(current_device()), stream);
}
FLOPCAST_API int cudaFreeAsync(void* pointer, void*) {
  Pools::get().gave_back(pointer);
  return cudaFree(pointer);
}
FLOPCAST_API int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  *pool = Pools::get().default_of(device);
  return kSuccess;
}
FLOPCAST_API int cudaDeviceGetMemPool(void** pool, int device) {
  *pool = Pools::get().of_device(device);
  return kSuccess;
}
FLOPCAST_API int cudaDeviceSetMemPool(int device, void* pool) {
  Pools::get().use(device, &pool_of(pool));
  return kSuccess;
}
/// cudaMemPoolProps: a type, handle types, and where.
FLOPCAST_API int cudaMemPoolCreate(void** pool, const void* how) {
  *pool = new Pool{static_cast<const int*>(how)[3], 0, 0, 0, {}};
  return kSuccess;
}
FLOPCAST_API int cudaMemPoolDestroy(void* pool) {
  Pools::get().forget(&pool_of(pool));
  delete &pool_of(pool);
  return kSuccess;
}
FLOPCAST_API int cudaMemPoolGetAttribute(void* pool, int attribute, void* out) {
  return remembered(get_pool_attribute(pool_of(pool), attribute, out));
}
FLOPCAST_API int cudaMemPoolSetAttribute(void* pool, int attribute, void* in) {
  return remembered(set_pool_attribute(pool_of(pool), attribute, in));
}
FLOPCAST_API int cudaMemPoolTrimTo(void*, std::size_t) { return kSuccess; }
FLOPCAST_API int cudaMemPoolSetAccess(void*, const void*, std::size_t) { return kSuccess; }

/// Nodes of graphs allocate nothing here.
FLOPCAST_API int cudaDeviceGetGraphMemAttribute(int, int, void* out) {
  std::memset(out, 0, sizeof(std::uint64_t));
  return kSuccess;
}
FLOPCAST_API int cudaDeviceSetGraphMemAttribute(int, int, void*) { return kSuccess; }
FLOPCAST_API int cudaDeviceGraphMemTrim(int) { return kSuccess; }
