// NCCL's collectives, sends and receives.
#include <algorithm>
#include <deque>
#include <mutex>

#include "live/standin/api/api.h"
#include "live/standin/nccl/communicator.h"
#include "live/standin/nccl/reduce.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

/// The first number of a reduction that programs make.
constexpr int kFirstMade = static_cast<int>(Reduction::kScaledSum);

/// Sums of which every rank multiplies its own part by a number before.
struct ScaledSum {
  Element element = Element::kInt8;
  bool on_device = false;
  const void* pointer = nullptr;  ///< where it is, if on the device
  std::vector<std::byte> scalar;  ///< what it is, otherwise
  bool dropped = false;
};
std::mutex scaled_sums_lock;
std::deque<ScaledSum>& scaled_sums() {
  static auto& all = *new std::deque<ScaledSum>;
  return all;
}

std::vector<std::byte> bytes_at(const void* at, std::size_t count) {
  const auto* const bytes = static_cast<const std::byte*>(at);
  return {bytes, bytes + count};
}

/// @return false if there is no such reduction
bool set_reduction(Call& call, int reduction) {
  if (reduction < 0) return false;
  if (reduction < kFirstMade) {
    call.reduction = static_cast<Reduction>(reduction);
    return true;
  }
  const std::lock_guard guard(scaled_sums_lock);
  const auto index = static_cast<std::size_t>(reduction - kFirstMade);
  if (index >= scaled_sums().size()) return false;
  const ScaledSum& made = scaled_sums()[index];
  if (made.dropped || made.element != call.element) return false;
  call.reduction = Reduction::kScaledSum;
  if (made.on_device) settle_bytes(made.pointer, bytes_of(made.element));
  call.scalar = made.on_device ? bytes_at(made.pointer, bytes_of(made.element)) : made.scalar;
  return true;
}

int communicate(void* handle, Call call, int type, int reduction, void* stream) {
  Communicator* const own = communicator_of(handle);
  const std::optional<Element> element = element_of(type);
  if (!own || !element) return kNcclInvalidArgument;
  call.element = *element;
  if (call.peer < 0 || call.peer >= own->party->size || !set_reduction(call, reduction))
    return kNcclInvalidArgument;
  Record record = record_on(stream, Act::kCollective);
  if (is_default(stream)) record.device = static_cast<std::uint16_t>(own->device);
  record.duration_ns = 4 * kCallNs;
  record.word[0] = own->party->communicator;
  record.word[1] =
      static_cast<std::uint64_t>(call.op) << 32 | static_cast<std::uint32_t>(call.peer);
  record.word[2] = bytes_counted(call, own->party->size);
  record.word[3] = static_cast<std::uint64_t>(call.reduction) << 40 |
                   static_cast<std::uint64_t>(call.element) << 32;
  if (call.op == Collective::kBroadcast || call.op == Collective::kScatter) {
    const int giver = own->party->voice_of(call.peer);
    call.nobody_gives = giver != call.peer;
    call.peer = giver;
  }
  send_or_collect(*own, call, record, stream);
  return kNcclSuccess;
}

/// Of calls that put nothing together.
constexpr int kNoReduction = 0;

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int ncclAllReduce(const void* send, void* receive, std::size_t count, int type,
                               int reduction, void* communicator, void* stream) {
  return communicate(communicator, {Collective::kAllReduce, send, receive, count}, type, reduction,
                     stream);
}
FLOPCAST_API int ncclBroadcast(const void* send, void* receive, std::size_t count, int type,
                               int root, void* communicator, void* stream) {
  Call call{Collective::kBroadcast, send, receive, count};
  call.peer = root;
  return communicate(communicator, call, type, kNoReduction, stream);
}
FLOPCAST_API int ncclBcast(void* buffer, std::size_t count, int type, int root, void* communicator,
                           void* stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, communicator, stream);
}
FLOPCAST_API int ncclReduce(const void* send, void* receive, std::size_t count, int type,
                            int reduction, int root, void* communicator, void* stream) {
  Call call{Collective::kReduce, send, receive, count};
  call.peer = root;
  return communicate(communicator, call, type, reduction, stream);
}
FLOPCAST_API int ncclAllGather(const void* send, void* receive, std::size_t count, int type,
                               void* communicator, void* stream) {
  return communicate(communicator, {Collective::kAllGather, send, receive, count}, type,
                     kNoReduction, stream);
}
FLOPCAST_API int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type,
                                   int reduction, void* communicator, void* stream) {
  return communicate(communicator, {Collective::kReduceScatter, send, receive, count}, type,
                     reduction, stream);
}
FLOPCAST_API int ncclAlltoAll(const void* send, void* receive, std::size_t count, int type,
                              void* communicator, void* stream) {
  return communicate(communicator, {Collective::kAllToAll, send, receive, count}, type,
                     kNoReduction, stream);
}
FLOPCAST_API int ncclGather(const void* send, void* receive, std::size_t count, int type, int root,
                            void* communicator, void* stream) {
  Call call{Collective::kGather, send, receive, count};
  call.peer = root;
  return communicate(communicator, call, type, kNoReduction, stream);
}
FLOPCAST_API int ncclScatter(const void* send, void* receive, std::size_t count, int type, int root,
                             void* communicator, void* stream) {
  Call call{Collective::kScatter, send, receive, count};
  call.peer = root;
  return communicate(communicator, call, type, kNoReduction, stream);
}
FLOPCAST_API int ncclSend(const void* send, std::size_t count, int type, int peer,
                          void* communicator, void* stream) {
  Call call{Collective::kSend, send, nullptr, count};
  call.peer = peer;
  return communicate(communicator, call, type, kNoReduction, stream);
}
FLOPCAST_API int ncclRecv(void* receive, std::size_t count, int type, int peer, void* communicator,
                          void* stream) {
  Call call{Collective::kReceive, nullptr, receive, count};
  call.peer = peer;
  return communicate(communicator, call, type, kNoReduction, stream);
}

/// ncclScalarDevice is 0: the number is read when a collective runs.
FLOPCAST_API int ncclRedOpCreatePreMulSum(int* reduction, void* scalar, int type, int residence,
                                          void*) {
  const std::optional<Element> element = element_of(type);
  if (!reduction || !scalar || !element) return kNcclInvalidArgument;
  ScaledSum made{*element, residence == 0, scalar, {}};
  if (!made.on_device) made.scalar = bytes_at(scalar, bytes_of(*element));
  const std::lock_guard guard(scaled_sums_lock);
  std::deque<ScaledSum>& all = scaled_sums();
  const auto free =
      std::find_if(all.begin(), all.end(), [](const ScaledSum& one) { return one.dropped; });
  *reduction = kFirstMade + static_cast<int>(free - all.begin());
  if (free == all.end()) {
    all.push_back(std::move(made));
  } else {
    *free = std::move(made);
  }
  return kNcclSuccess;
}
FLOPCAST_API int ncclRedOpDestroy(int reduction, void*) {
  const std::lock_guard guard(scaled_sums_lock);
  const auto index = static_cast<std::size_t>(reduction - kFirstMade);
  if (reduction < kFirstMade || index >= scaled_sums().size()) return kNcclInvalidArgument;
  scaled_sums()[index].dropped = true;
  return kNcclSuccess;
}
