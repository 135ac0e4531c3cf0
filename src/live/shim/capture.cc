// Graph capture: whether a stream captures. None does yet: beginning a capture is refused by a stub.
#include "live/shim/api.h"

using namespace flopcast::live;

/// cudaStreamCaptureStatusNone
FLOPCAST_API int cudaStreamIsCapturing(void*, int* status) {
  *status = 0;
  return kSuccess;
}
/// Both majors begin with the status and an id; what follows is left as it is.
FLOPCAST_API int cudaStreamGetCaptureInfo(void*, int* status, unsigned long long* id) {
  *status = 0;
  if (id) *id = 0;
  return kSuccess;
}
FLOPCAST_API int cudaStreamGetCaptureInfo_v2(void*, int* status, unsigned long long* id) {
  return cudaStreamGetCaptureInfo(nullptr, status, id);
}
FLOPCAST_API int cudaThreadExchangeStreamCaptureMode(int*) { return kSuccess; }
