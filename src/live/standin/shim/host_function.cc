// Functions of the application that run in stream order.
//
// A function is called when it is put on its stream: what the work before it leaves in memory is there by then, since
// copies and fills are done when they are put, too. On the stream it takes its place and its time.
#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

int put_function(void* stream, std::function<void()> function) {
  if (!function) return kInvalidValue;
  put(stream, {.record = record_on(stream, Act::kHostWork), .effect = std::move(function)});
  return kSuccess;
}

/// A value that the stream writes.
template <typename T>
int write_value(void* stream, std::uintptr_t address, T value) {
  Work work{record_on(stream, Act::kFill)};
  work.record.word[0] = sizeof value;
  work.effect = [=] { *reinterpret_cast<T*>(address) = value; };
  put(stream, std::move(work));
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  if (!function) return remembered(kInvalidValue);
  return remembered(put_function(stream, [=] { function(data); }));
}
FLOPCAST_API int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*),
                                       void* data, unsigned) {
  if (!function) return remembered(kInvalidValue);
  if (captures(stream)) return remembered(refuse_in_capture(stream));
  return remembered(put_function(stream, [=] { function(stream, kSuccess, data); }));
}

FLOPCAST_API int cuStreamWriteValue32(void* stream, std::uintptr_t address, unsigned value,
                                      unsigned) {
  return write_value(stream, address, value);
}
FLOPCAST_API int cuStreamWriteValue32_v2(void* stream, std::uintptr_t address, unsigned value,
                                         unsigned flags) {
  return cuStreamWriteValue32(stream, address, value, flags);
}
FLOPCAST_API int cuStreamWriteValue64(void* stream, std::uintptr_t address, std::uint64_t value,
                                      unsigned) {
  return write_value(stream, address, value);
}
FLOPCAST_API int cuStreamWriteValue64_v2(void* stream, std::uintptr_t address, std::uint64_t value,
                                         unsigned flags) {
  return cuStreamWriteValue64(stream, address, value, flags);
}
