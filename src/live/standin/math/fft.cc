// cuFFT: plans with their sizes, and transforms as passes over the data.
#include <cstdint>
#include <map>
#include <mutex>

#include "live/standin/api/api.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

/// cufftResult
enum FftStatus : int { kFftSuccess = 0, kFftInvalidPlan = 1, kFftInvalidValue = 4 };

struct FftPlan {
  void* stream = nullptr;
  double read = 0, written = 0;  ///< bytes of a pass
  int passes = 1;
};

/// Plans are numbers to programs.
class FftPlans {
 public:
  static FftPlans& get() {
    static FftPlans* const plans = new FftPlans;
    return *plans;
  }
  int add() {
    const std::lock_guard guard(lock_);
    plans_[++made_];
    return made_;
  }
  void drop(int plan) {
    const std::lock_guard guard(lock_);
    plans_.erase(plan);
  }
  /// Null if there is none of that number. A plan is its thread's alone, as with cuFFT itself.
  FftPlan* find(int plan) {
    const std::lock_guard guard(lock_);
    const auto found = plans_.find(plan);
    return found == plans_.end() ? nullptr : &found->second;
  }

 private:
  std::mutex lock_;
  int made_ = 0;
  std::map<int, FftPlan> plans_;
};

/// cudaDataType_t: halves, floats, doubles; alone or in pairs.
double fft_element_bytes(int type) {
  switch (type) {
    case 2:
      return 2;
    case 1:
    case 4:
      return 8;
    case 5:
      return 16;
    default:
      return 4;
  }
}

/// A transform of one dimension up to this length is one kernel that keeps it in a core's shared memory.
constexpr std::int64_t kOnePass = 8192;

int plan_many(FftPlan& plan, int rank, const std::int64_t* sizes, std::int64_t batch, int in,
              int out) {
  if (rank < 1 || rank > 3) return kFftInvalidValue;
  double elements = static_cast<double>(batch);
  plan.passes = 0;
  for (int i = 0; i < rank; ++i) {
    elements *= static_cast<double>(sizes[i]);
    plan.passes += sizes[i] > kOnePass ? 2 : 1;
  }
  // Real data has half as many pairs on its other side.
  const bool real_in = in < 3, real_out = out < 3;
  plan.read = elements * fft_element_bytes(in) * (real_out && !real_in ? 0.5 : 1);
  plan.written = elements * fft_element_bytes(out) * (real_in && !real_out ? 0.5 : 1);
  return kFftSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cufftCreate(int* plan) {
  *plan = FftPlans::get().add();
  return kFftSuccess;
}
FLOPCAST_API int cufftDestroy(int plan) {
  FftPlans::get().drop(plan);
  return kFftSuccess;
}
FLOPCAST_API int cufftSetStream(int plan, void* stream) {
  FftPlan* const own = FftPlans::get().find(plan);
  if (!own) return kFftInvalidPlan;
  own->stream = stream;
  return kFftSuccess;
}
FLOPCAST_API int cufftSetAutoAllocation(int, int) { return kFftSuccess; }
FLOPCAST_API int cufftSetWorkArea(int, void*) { return kFftSuccess; }
FLOPCAST_API int cufftGetSize(int, std::size_t* bytes) {
  *bytes = 0;
  return kFftSuccess;
}
FLOPCAST_API int cufftXtMakePlanMany(int plan, int rank, long long* sizes, long long*, long long,
                                     long long, int in, long long*, long long, long long, int out,
                                     long long batch, std::size_t* workspace, int) {
  FftPlan* const own = FftPlans::get().find(plan);
  if (!own) return kFftInvalidPlan;
  if (workspace) *workspace = 0;
  const std::int64_t own_sizes[3] = {rank > 0 ? sizes[0] : 1, rank > 1 ? sizes[1] : 1,
                                     rank > 2 ? sizes[2] : 1};
  return plan_many(*own, rank, own_sizes, batch, in, out);
}
FLOPCAST_API int cufftXtExec(int plan, void*, void*, int) {
  const FftPlan* const own = FftPlans::get().find(plan);
  if (!own) return kFftInvalidPlan;
  for (int pass = 0; pass < own->passes; ++pass)
    submit_memory(own->stream, own->read, own->written, "cufft transform");
  return kFftSuccess;
}
