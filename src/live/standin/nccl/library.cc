// What NCCL says of itself, and memory that programs get of it or show to it.
#include "live/standin/api/api.h"
#include "live/standin/memory/memory.h"
#include "live/standin/nccl/communicator.h"

using namespace flopcast::live;

/// The version that stock PyTorch of this CUDA is built against.
FLOPCAST_API int ncclGetVersion(int* version) {
  if (!version) return kNcclInvalidArgument;
  *version = FLOPCAST_CUDA_MAJOR == 12 ? 22705 : 23007;
  return kNcclSuccess;
}
FLOPCAST_API const char* ncclGetErrorString(int status) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error",
                                           "unhandled system error",
                                           "internal error",
                                           "invalid argument",
                                           "invalid usage",
                                           "remote process exited or there was a network error",
                                           "NCCL operation in progress",
                                           "operation timed out"};
  return status >= 0 && static_cast<std::size_t>(status) < std::size(kTexts)
             ? kTexts[status]
             : "unknown result code";
}
FLOPCAST_API const char* ncclGetLastError(void*) { return ""; }

FLOPCAST_API int ncclMemAlloc(void** pointer, std::size_t bytes) {
  if (!pointer) return kNcclInvalidArgument;
  const auto block = Memory::get().allocate(bytes, current_device(), Place::kDevice);
  *pointer = block ? reinterpret_cast<void*>(block->address) : nullptr;
  return block ? kNcclSuccess : kNcclUnhandledCudaError;
}
FLOPCAST_API int ncclMemFree(void* pointer) {
  if (!pointer) return kNcclSuccess;
  return Memory::get().free(pointer) ? kNcclSuccess : kNcclInvalidArgument;
}

// Registered memory is memory as any other: a handle has to be told apart from none.
FLOPCAST_API int ncclCommRegister(void* communicator, void* buffer, std::size_t, void** handle) {
  if (!communicator || !handle) return kNcclInvalidArgument;
  *handle = buffer;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommDeregister(void*, void*) { return kNcclSuccess; }
FLOPCAST_API int ncclCommWindowRegister(void* communicator, void* buffer, std::size_t,
                                        void** window, int) {
  if (!communicator || !window) return kNcclInvalidArgument;
  *window = buffer;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommWindowDeregister(void*, void*) { return kNcclSuccess; }
