// The CUDA runtime's streams and events.
#include <cerrno>
#include <mutex>
#include <unordered_map>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/graph.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2;
/// Of cudaEventRecordWithFlags and cudaStreamWaitEvent: in a capture, a node of its own.
constexpr unsigned kExternal = 1;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;

std::atomic<std::uint64_t> streams_made{0}, events_made{0}, events_recorded{0};

StreamObject* object(void* stream) { return static_cast<StreamObject*>(stream); }

/// The default stream that a thread has for itself on a device (handle 2).
StreamObject* stream_of_thread() {
  static thread_local std::unordered_map<int, StreamObject> streams;
  StreamObject& own = streams[current_device()];
  if (own.number == 0) own = {next_stream(), current_device()};
  return &own;
}

int make_stream(void** stream, unsigned flags, int priority) {
  if (!stream) return kInvalidValue;
  auto* made = new StreamObject{next_stream(), current_device(), priority,
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

Told ask_watched(const Record& record) {
  Watcher* const sees = watcher.load(std::memory_order_acquire);
  const std::int64_t begin = sees ? Link::get().now_ns() : 0;
  const Told told = Link::get().ask(record);
  if (sees) sees->waited(record.act, begin);
  return told;
}

int wait_for(void* stream, Act act) {
  if (captures(stream)) return refuse_in_capture(stream);
  ask_watched(record_on(stream, act));
  return kSuccess;
}

int record_event(EventObject& event, void* stream, unsigned flags) {
  event.capture = 0;
  Work work{record_on(stream, Act::kRecordEvent)};
  work.record.word[0] = event.number;
  work.record.word[1] = event.keeps_times ? 1 : 0;
  if (captures(stream) && (flags & kExternal) == 0) {
    record_in_capture(event, *stream_object(stream));
    return kSuccess;
  }
  event.recorded = true;
  const std::uint64_t device = work.record.device;
  event.place = {device << 48 | work.record.stream, ++events_recorded};
  if (Node* const node = put(stream, std::move(work))) node->event = &event;
  return kSuccess;
}

int wait_event(void* stream, const EventObject& event, unsigned flags) {
  if (is_captured(event)) return wait_in_capture(stream_object(stream), event);
  if (captures(stream) && (flags & kExternal) == 0) return refuse_in_capture(stream);
  Work work{record_on(stream, Act::kStreamWaitsEvent)};
  work.record.word[0] = event.number;
  put(stream, std::move(work));
  return kSuccess;
}

}  // namespace

bool is_default(void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 1; }

StreamObject* stream_object(void* stream) {
  if (is_default(stream)) return nullptr;
  return reinterpret_cast<std::uintptr_t>(stream) == 2 ? stream_of_thread() : object(stream);
}

std::uint64_t next_stream() { return ++streams_made; }
std::uint64_t next_event() { return ++events_made; }

Record record_on(void* stream, Act act) {
  const StreamObject* const own = stream_object(stream);
  Record record;
  record.act = act;
  record.duration_ns = kCallNs;
  record.device = static_cast<std::uint16_t>(own ? own->device : current_device());
  record.stream = own ? own->number : 0;
  return record;
}

void tell(const Work& work, Record record) {
  Watcher* const sees = watcher.load(std::memory_order_acquire);
  if (!sees) {
    Link::get().say(record);
    return;
  }
  sees->begins(work, record);
  sees->told(work, record, Link::get().say(record));
}

void tell_and_wait(const Work& work) {
  if (!watcher.load(std::memory_order_acquire)) {
    Link::get().ask(work.record);
    return;
  }
  tell(work, work.record);
  Record wait = work.record;
  wait.act = Act::kWaitStream;
  wait.duration_ns = 0;
  Link::get().ask(wait);
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
  if (captures(stream)) refuse_in_capture(stream);
  Link::get().say(record_on(stream, Act::kDropStream));
  delete object(stream);
  return kSuccess;
}
FLOPCAST_API int cudaStreamGetPriority(void* stream, int* priority) {
  const StreamObject* const own = stream_object(stream);
  *priority = own ? own->priority : kLeastPriority;
  return kSuccess;
}
FLOPCAST_API int cudaStreamGetFlags(void* stream, unsigned* flags) {
  const StreamObject* const own = stream_object(stream);
  *flags = own && !own->blocking ? kStreamNonBlocking : 0;
  return kSuccess;
}
FLOPCAST_API int cudaStreamGetId(void* stream, unsigned long long* id) {
  *id = record_on(stream, Act::kNothing).stream;
  return kSuccess;
}
FLOPCAST_API int cudaStreamGetDevice(void* stream, int* device) {
  *device = record_on(stream, Act::kNothing).device;
  return kSuccess;
}
FLOPCAST_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = kLeastPriority;
  if (greatest) *greatest = kGreatestPriority;
  return kSuccess;
}
FLOPCAST_API int cudaStreamSynchronize(void* stream) {
  return remembered(wait_for(stream, Act::kWaitStream));
}
FLOPCAST_API int cudaDeviceSynchronize() {
  if (forbidden_by_capture()) return remembered(kCaptureUnsupported);
  return remembered(wait_for(nullptr, Act::kWaitDevice));
}
FLOPCAST_API int cudaStreamQuery(void* stream) {
  if (captures(stream)) return remembered(refuse_in_capture(stream));
  const Told told = Link::get().inquire(record_on(stream, Act::kAskStream));
  return told.value != 0 ? kSuccess : kNotReady;
}

FLOPCAST_API int cudaEventCreateWithFlags(void** event, unsigned flags) {
  if (!event) return remembered(kInvalidValue);
  *event = new EventObject{next_event(), (flags & kEventDisableTiming) == 0};
  return kSuccess;
}
FLOPCAST_API int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
FLOPCAST_API int cudaEventDestroy(void* event) {
  auto* const object = static_cast<EventObject*>(event);
  if (object->recorded) Link::get().say(record_of(*object, Act::kDropEvent));
  delete object;
  return kSuccess;
}
FLOPCAST_API int cudaEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  if (!event) return remembered(kInvalidHandle);
  return remembered(record_event(*static_cast<EventObject*>(event), stream, flags));
}
FLOPCAST_API int cudaEventRecord(void* event, void* stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
FLOPCAST_API int cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  if (!event) return remembered(kInvalidHandle);
  return remembered(wait_event(stream, *static_cast<EventObject*>(event), flags));
}
FLOPCAST_API int cudaEventSynchronize(void* event) {
  const auto& object = *static_cast<EventObject*>(event);
  if (is_captured(object)) return remembered(kCapturedEvent);
  ask_watched(record_of(object, Act::kWaitEvent));
  return kSuccess;
}
FLOPCAST_API int cudaEventQuery(void* event) {
  const auto& object = *static_cast<EventObject*>(event);
  if (is_captured(object)) return remembered(kCapturedEvent);
  const bool helps = is_helper_thread && object.recorded;
  if (helps && has_not_ended(object.place)) return kNotReady;
  const std::int64_t shown_ns = helps ? shown_to_watchdogs() : 0;
  const Told told = Link::get().inquire(record_of(object, Act::kAskEvent));
  if (helps && told.value == 0) note_not_ended(object.place, shown_ns);
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
