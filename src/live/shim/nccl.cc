// NCCL: communicators and what their ranks do together.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "live/link/link.h"
#include "live/shim/api.h"
#include "live/shim/memory.h"
#include "live/shim/stream.h"

namespace flopcast::live {
namespace {

/// ncclResult_t
enum NcclStatus : int { kNcclSuccess = 0, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5 };

/// ncclUniqueId, which calls take by value.
struct UniqueId {
  char text[128];
};

struct Communicator {
  std::uint64_t number = 0;
  int rank = 0, size = 1, device = 0;
};
Communicator& of(void* communicator) { return *static_cast<Communicator*>(communicator); }

std::atomic<std::uint64_t> communicators_made{0}, ids_made{0};

/// By ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, fp16, fp32, fp64, bf16, fp8, fp8.
constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
std::size_t bytes_of(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < std::size(kBytes) ? kBytes[type] : 1;
}

/// Calls between ncclGroupStart and ncclGroupEnd go out together.
thread_local int group_depth = 0;
thread_local std::vector<Record> group_calls;

void send_calls() {
  for (Record& record : group_calls) {
    record.word[3] = group_calls.size();
    Link::get().say(record);
  }
  group_calls.clear();
}

/// @param bytes as nccl-tests counts them
int call(void* communicator, Collective op, std::size_t bytes, int peer, void* stream) {
  if (!communicator) return kNcclInvalidArgument;
  const Communicator& own = of(communicator);
  if (peer < 0 || peer >= own.size) return kNcclInvalidArgument;
  Record record = record_on(stream, Act::kCollective);
  record.duration_ns = 4 * kCallNs;
  record.word[0] = own.number;
  record.word[1] = static_cast<std::uint64_t>(op) << 32 | static_cast<std::uint32_t>(peer);
  record.word[2] = bytes;
  group_calls.push_back(record);
  if (group_depth == 0) send_calls();
  return kNcclSuccess;
}

std::size_t of_all(void* communicator, std::size_t count, int type) {
  return communicator ? count * bytes_of(type) * static_cast<std::size_t>(of(communicator).size)
                      : 0;
}

int make(void** communicator, int size, const UniqueId& id, int rank) {
  if (!communicator || rank < 0 || rank >= size) return kNcclInvalidArgument;
  auto* const made = new Communicator{++communicators_made, rank, size, current_device()};
  Record record = record_on(nullptr, Act::kMakeGroup);
  Link& link = Link::get();
  record.signature = link.number(std::string_view(id.text, strnlen(id.text, sizeof id.text)));
  record.word[0] = made->number;
  record.word[1] = static_cast<std::uint64_t>(rank);
  record.word[2] = static_cast<std::uint64_t>(size);
  link.ask(record);
  *communicator = made;
  return kNcclSuccess;
}

int drop_communicator(void* communicator) {
  if (!communicator) return kNcclSuccess;
  Record record = record_on(nullptr, Act::kDropGroup);
  record.word[0] = of(communicator).number;
  Link::get().say(record);
  delete &of(communicator);
  return kNcclSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int ncclGetVersion(int* version) {
  *version = FLOPCAST_CUDA_MAJOR == 12 ? 22705 : 23007;
  return kNcclSuccess;
}
FLOPCAST_API const char* ncclGetErrorString(int status) {
  return status == kNcclSuccess           ? "no error"
         : status == kNcclInvalidArgument ? "invalid argument"
                                          : "invalid usage";
}
FLOPCAST_API const char* ncclGetLastError(void*) { return ""; }

/// One rank makes it and tells the others by its own means.
FLOPCAST_API int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  const char* rank = std::getenv("RANK");
  std::snprintf(id->text, sizeof id->text, "communicator %s.%llu", rank ? rank : "0",
                static_cast<unsigned long long>(++ids_made));
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommInitRank(void** communicator, int size, UniqueId id, int rank) {
  return make(communicator, size, id, rank);
}
FLOPCAST_API int ncclCommInitRankConfig(void** communicator, int size, UniqueId id, int rank,
                                        void*) {
  return make(communicator, size, id, rank);
}
FLOPCAST_API int ncclCommInitRankScalable(void** communicator, int size, int rank, int ids,
                                          UniqueId* id, void*) {
  return ids < 1 ? kNcclInvalidArgument : make(communicator, size, *id, rank);
}
FLOPCAST_API int ncclCommSplit(void* parent, int colour, int key, void** communicator, void*) {
  auto* const made = new Communicator{++communicators_made, 0, 1, current_device()};
  Record record = record_on(nullptr, Act::kSplitGroup);
  record.word[0] = of(parent).number;
  record.word[1] = static_cast<std::uint64_t>(static_cast<std::int64_t>(colour));
  record.word[2] = static_cast<std::uint64_t>(static_cast<std::int64_t>(key));
  record.word[3] = made->number;
  const std::uint64_t place = Link::get().ask(record).value;
  *communicator = colour < 0 ? nullptr : made;
  if (colour < 0) {
    delete made;
    return kNcclSuccess;
  }
  made->rank = static_cast<int>(place >> 32);
  made->size = static_cast<int>(place & 0xffffffff);
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommFinalize(void*) { return kNcclSuccess; }
FLOPCAST_API int ncclCommDestroy(void* communicator) { return drop_communicator(communicator); }
FLOPCAST_API int ncclCommAbort(void* communicator) { return drop_communicator(communicator); }
FLOPCAST_API int ncclCommGetAsyncError(void*, int* status) {
  *status = kNcclSuccess;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommCount(void* communicator, int* size) {
  *size = of(communicator).size;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommUserRank(void* communicator, int* rank) {
  *rank = of(communicator).rank;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommCuDevice(void* communicator, int* device) {
  *device = of(communicator).device;
  return kNcclSuccess;
}

FLOPCAST_API int ncclAllReduce(const void*, void*, std::size_t count, int type, int,
                               void* communicator, void* stream) {
  return call(communicator, Collective::kAllReduce, count * bytes_of(type), 0, stream);
}
FLOPCAST_API int ncclBroadcast(const void*, void*, std::size_t count, int type, int root,
                               void* communicator, void* stream) {
  return call(communicator, Collective::kBroadcast, count * bytes_of(type), root, stream);
}
FLOPCAST_API int ncclBcast(void*, std::size_t count, int type, int root, void* communicator,
                           void* stream) {
  return call(communicator, Collective::kBroadcast, count * bytes_of(type), root, stream);
}
FLOPCAST_API int ncclReduce(const void*, void*, std::size_t count, int type, int, int root,
                            void* communicator, void* stream) {
  return call(communicator, Collective::kReduce, count * bytes_of(type), root, stream);
}
FLOPCAST_API int ncclAllGather(const void*, void*, std::size_t count, int type, void* communicator,
                               void* stream) {
  return call(communicator, Collective::kAllGather, of_all(communicator, count, type), 0, stream);
}
FLOPCAST_API int ncclReduceScatter(const void*, void*, std::size_t count, int type, int,
                                   void* communicator, void* stream) {
  return call(communicator, Collective::kReduceScatter, of_all(communicator, count, type), 0,
              stream);
}
FLOPCAST_API int ncclAlltoAll(const void*, void*, std::size_t count, int type, void* communicator,
                              void* stream) {
  return call(communicator, Collective::kAllToAll, of_all(communicator, count, type), 0, stream);
}
FLOPCAST_API int ncclGather(const void*, void*, std::size_t count, int type, int root,
                            void* communicator, void* stream) {
  return call(communicator, Collective::kGather, of_all(communicator, count, type), root, stream);
}
FLOPCAST_API int ncclScatter(const void*, void*, std::size_t count, int type, int root,
                             void* communicator, void* stream) {
  return call(communicator, Collective::kScatter, of_all(communicator, count, type), root, stream);
}
FLOPCAST_API int ncclSend(const void*, std::size_t count, int type, int peer, void* communicator,
                          void* stream) {
  return call(communicator, Collective::kSend, count * bytes_of(type), peer, stream);
}
FLOPCAST_API int ncclRecv(void*, std::size_t count, int type, int peer, void* communicator,
                          void* stream) {
  return call(communicator, Collective::kReceive, count * bytes_of(type), peer, stream);
}

FLOPCAST_API int ncclGroupStart() {
  ++group_depth;
  return kNcclSuccess;
}
FLOPCAST_API int ncclGroupEnd() {
  if (group_depth == 0) return kNcclInvalidUsage;
  if (--group_depth == 0) send_calls();
  return kNcclSuccess;
}

FLOPCAST_API int ncclRedOpCreatePreMulSum(int* op, void*, int, int, void*) {
  *op = 5;  // the first that is no built-in one
  return kNcclSuccess;
}
FLOPCAST_API int ncclRedOpDestroy(int, void*) { return kNcclSuccess; }
FLOPCAST_API int ncclCommRegister(void*, void*, std::size_t, void** handle) {
  *handle = nullptr;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommDeregister(void*, void*) { return kNcclSuccess; }
FLOPCAST_API int ncclMemAlloc(void** pointer, std::size_t bytes) {
  const auto block = Memory::get().allocate(bytes, current_device(), Place::kDevice);
  *pointer = block ? reinterpret_cast<void*>(block->address) : nullptr;
  return block ? kNcclSuccess : kNcclInvalidArgument;
}
FLOPCAST_API int ncclMemFree(void* pointer) {
  return Memory::get().free(pointer) ? kNcclSuccess : kNcclInvalidArgument;
}
