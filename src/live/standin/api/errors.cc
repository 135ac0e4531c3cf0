// The status that a thread's last call left behind, and words for it.
#include "live/standin/api/api.h"

namespace flopcast::live {
namespace {

thread_local int last_status = kSuccess;

struct Words {
  int status;
  const char *name, *text;
};
constexpr Words kWords[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kNotInitialized, "cudaErrorInitializationError", "initialization error"},
    {kInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {kInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotReady, "cudaErrorNotReady", "device not ready"},
    {kInvalidImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {kNoImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {kFileNotFound, "cudaErrorFileNotFound", "file not found"},
    {kCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {kCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not initiated in this stream"},
    {kCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {kCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {kCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {kGraphUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to instantiated graph update"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const Words& words_of(int status) {
  for (const Words& words : kWords) {
    if (words.status == status) return words;
  }
  static constexpr Words kUnknown{999, "cudaErrorUnknown", "unknown error"};
  return kUnknown;
}

}  // namespace

int remembered(int status) {
  // Asking whether something is done is no failure that would stay.
  if (status != kSuccess && status != kNotReady) last_status = status;
  return status;
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaGetLastError() {
  const int status = last_status;
  last_status = kSuccess;
  return status;
}
FLOPCAST_API int cudaPeekAtLastError() { return last_status; }
FLOPCAST_API const char* cudaGetErrorString(int status) { return words_of(status).text; }
FLOPCAST_API const char* cudaGetErrorName(int status) { return words_of(status).name; }
FLOPCAST_API int cuGetErrorString(int status, const char** text) {
  *text = words_of(status).text;
  return kSuccess;
}
FLOPCAST_API int cuGetErrorName(int status, const char** name) {
  *name = words_of(status).name;
  return kSuccess;
}

// The driver's log of what went wrong, which is empty: whoever does something wrong is told by the status.

FLOPCAST_API int cuLogsRegisterCallback(void*, void*, void** handle) {
  static int only = 0;
  if (handle) *handle = &only;
  return kSuccess;
}
FLOPCAST_API int cuLogsUnregisterCallback(void*) { return kSuccess; }
FLOPCAST_API int cuLogsCurrent(unsigned* place, unsigned) {
  *place = 0;
  return kSuccess;
}
FLOPCAST_API int cuLogsDumpToMemory(unsigned*, char* text, std::size_t* bytes, unsigned) {
  if (text && *bytes > 0) *text = 0;
  *bytes = 0;
  return kSuccess;
}
