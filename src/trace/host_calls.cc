// What host calls do to the GPU. Names only: CUDA's and HIP's differ in their prefix.
#include "flopcast/trace.h"

namespace flopcast {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

CallKind call_kind(std::string_view name) {
  if (contains(name, "EventRecord")) return CallKind::kRecord;
  if (contains(name, "StreamWaitEvent")) return CallKind::kWaitEvent;
  if (contains(name, "DeviceSynchronize") || contains(name, "CtxSynchronize"))
    return CallKind::kDeviceSync;
  if (name == "cudaFree" || name == "hipFree") return CallKind::kDeviceSync;
  if (contains(name, "StreamSynchronize")) return CallKind::kStreamSync;
  if (contains(name, "EventSynchronize")) return CallKind::kEventSync;
  if (contains(name, "Memcpy")) return CallKind::kCopy;
  return CallKind::kOther;
}

bool is_submitting_call(std::string_view name) {
  return contains(name, "Launch") || contains(name, "Memcpy") || contains(name, "Memset");
}

bool is_polling_call(std::string_view name) {
  return contains(name, "EventQuery") || contains(name, "StreamQuery") ||
         contains(name, "ThreadExchangeStreamCaptureMode") || contains(name, "StreamIsCapturing") ||
         contains(name, "StreamGetCaptureInfo") || contains(name, "GetLastError");
}

}  // namespace flopcast
