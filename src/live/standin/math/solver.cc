// cuSOLVER: handles and parameters. What it computes is a matter of its arguments (src/live/standin/api/modelled.tsv).
#include "live/standin/api/api.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

/// Parameters of Jacobi methods and of the 64-bit functions: nothing of them changes what is modelled.
struct SolverParameters {
  double tolerance = 0;
  int sweeps = 0, sorted = 0;
};
SolverParameters& parameters_of(void* object) { return *static_cast<SolverParameters*>(object); }

template <typename T>
int make_solver(void** object) {
  *object = new T;
  return 0;
}
template <typename T>
int drop_solver(void* object) {
  delete static_cast<T*>(object);
  return 0;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cusolverDnCreate(void** handle) { return make_solver<LibraryHandle>(handle); }
FLOPCAST_API int cusolverDnDestroy(void* handle) { return drop_solver<LibraryHandle>(handle); }
FLOPCAST_API int cusolverDnSetStream(void* handle, void* stream) {
  static_cast<LibraryHandle*>(handle)->stream = stream;
  return 0;
}
FLOPCAST_API int cusolverDnGetStream(void* handle, void** stream) {
  *stream = stream_of_library(handle);
  return 0;
}
FLOPCAST_API int cusolverDnCreateParams(void** object) {
  return make_solver<SolverParameters>(object);
}
FLOPCAST_API int cusolverDnDestroyParams(void* object) {
  return drop_solver<SolverParameters>(object);
}
FLOPCAST_API int cusolverDnCreateGesvdjInfo(void** object) {
  return make_solver<SolverParameters>(object);
}
FLOPCAST_API int cusolverDnDestroyGesvdjInfo(void* object) {
  return drop_solver<SolverParameters>(object);
}
FLOPCAST_API int cusolverDnCreateSyevjInfo(void** object) {
  return make_solver<SolverParameters>(object);
}
FLOPCAST_API int cusolverDnDestroySyevjInfo(void* object) {
  return drop_solver<SolverParameters>(object);
}
FLOPCAST_API int cusolverDnXgesvdjSetTolerance(void* object, double tolerance) {
  parameters_of(object).tolerance = tolerance;
  return 0;
}
FLOPCAST_API int cusolverDnXgesvdjSetMaxSweeps(void* object, int sweeps) {
  parameters_of(object).sweeps = sweeps;
  return 0;
}
FLOPCAST_API int cusolverDnXgesvdjSetSortEig(void* object, int sorted) {
  parameters_of(object).sorted = sorted;
  return 0;
}
