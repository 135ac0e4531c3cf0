// The CUDA runtime's streams and events.
#include <cerrno>
#include <mutex>
#include <unordered_map>

#include "live/link/link.h"
#include "live/shim/api.h"
#include "live/shim/stream.h"

namespace flopcast::live {
namespace {

/// Behind a handle that programs hold. Streams are numbered in the order of their making.
struct StreamObject {
  std::uint64_t number = 0;
  int device = 0;
  int priority = 0;
  bool blocking = true;
};
struct EventObject {
  std::uint64_t number = 0;
  bool keeps_times = true;
  bool recorded = false;
};

constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;

std::atomic<std::uint64_t> streams_made{0}, events_made{0};

StreamObject* object(void* stream) { return static_cast<StreamObject*>(stream); }

int make_stream(void** stream, unsigned flags, int priority) {
  if (!stream) return kInvalidValue;
  auto* made = new StreamObject{++streams_made, current_device(), priority,
                                (flags & kStreamNonBlocking) == 0};
  *stream = made;
  Record record = record_on(made, Act::kMakeStream);
  record.word[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(priority));
  record.word[1] = made->blocking ? 0 : 1;
  Link::get().say(record);
  return kSuccess;
}

Record record_of(const EventObject& event, Act act) {
  Record record = record_on(nullptr, act);
  record.word[0] = event.number;
  return record;
}

}  // namespace

bool is_default(void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

Record record_on(void* stream, Act act) {
  Record record;
  record.act = act;
  record.duration_ns = kCallNs;
  record.device =
      static_cast<std::uint16_t>(is_default(stream) ? current_device() : object(stream)->device);
  record.stream = is_default(stream) ? 0 : object(stream)->number;
  return record;
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaStreamCreate(void** stream) {
  return remembered(make_stream(stream, 0, kLeastPriority));
}
FLOPCAST_API int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return remembered(make_stream(stream, flags, kLeastPriority));
}
FLOPCAST_API int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return remembered(make_stream(stream, flags, priority));
}
FLOPCAST_API int cudaStreamDestroy(void* stream) {
  if (is_default(stream)) return remembered(kInvalidHandle);
  Link::get().say(record_on(stream, Act::kDropStream));
  delete object(stream);
  return kSuccess;
}
FLOPCAST_API int cudaStreamGetPriority(void* stream, int* priority) {
  *priority = is_default(stream) ? kLeastPriority : object(stream)->priority;
  return kSuccess;
}
FLOPCAST_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = kLeastPriority;
  if (greatest) *greatest = kGreatestPriority;
  return kSuccess;
}
FLOPCAST_API int cudaStreamSynchronize(void* stream) {
  Link::get().ask(record_on(stream, Act::kWaitStream));
  return kSuccess;
}
FLOPCAST_API int cudaDeviceSynchronize() {
  Link::get().ask(record_on(nullptr, Act::kWaitDevice));
  return kSuccess;
}
FLOPCAST_API int cudaStreamQuery(void* stream) {
  const Told told = Link::get().ask(record_on(stream, Act::kAskStream));
  return told.value != 0 ? kSuccess : kNotReady;
}

FLOPCAST_API int cudaEventCreateWithFlags(void** event, unsigned flags) {
  if (!event) return remembered(kInvalidValue);
  *event = new EventObject{++events_made, (flags & kEventDisableTiming) == 0};
  return kSuccess;
}
FLOPCAST_API int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
FLOPCAST_API int cudaEventDestroy(void* event) {
  auto* const object = static_cast<EventObject*>(event);
  if (object->recorded) Link::get().say(record_of(*object, Act::kDropEvent));
  delete object;
  return kSuccess;
}
FLOPCAST_API int cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
  auto& object = *static_cast<EventObject*>(event);
  object.recorded = true;
  Record record = record_on(stream, Act::kRecordEvent);
  record.word[0] = object.number;
  record.word[1] = object.keeps_times ? 1 : 0;
  Link::get().say(record);
  return kSuccess;
}
FLOPCAST_API int cudaEventRecord(void* event, void* stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
FLOPCAST_API int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  Record record = record_on(stream, Act::kStreamWaitsEvent);
  record.word[0] = static_cast<EventObject*>(event)->number;
  Link::get().say(record);
  return kSuccess;
}
FLOPCAST_API int cudaEventSynchronize(void* event) {
  Link::get().ask(record_of(*static_cast<EventObject*>(event), Act::kWaitEvent));
  return kSuccess;
}
FLOPCAST_API int cudaEventQuery(void* event) {
  const Told told = Link::get().ask(record_of(*static_cast<EventObject*>(event), Act::kAskEvent));
  return told.value != 0 ? kSuccess : kNotReady;
}
FLOPCAST_API int cudaEventElapsedTime(float* milliseconds, void* from, void* to) {
  const auto &first = *static_cast<EventObject*>(from), &last = *static_cast<EventObject*>(to);
  if (!first.keeps_times || !last.keeps_times) return remembered(kInvalidHandle);
  Record record = record_of(first, Act::kElapsed);
  record.word[1] = last.number;
  const Told told = Link::get().ask(record);
  if (told.status == EAGAIN) return kNotReady;
  if (told.status != 0) return remembered(kInvalidHandle);
  *milliseconds =
      static_cast<float>(static_cast<double>(static_cast<std::int64_t>(told.value)) * 1e-9);
  return kSuccess;
}
