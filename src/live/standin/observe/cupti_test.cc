// A profiler against CUPTI's activities: rows of simulated work at simulated times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

using LiveCuptiThreads = LivePrograms;

/// A buffer that the profiler gives, and what came back in it.
std::vector<std::uint8_t> lent;
std::size_t filled = 0;
int asked = 0;

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  lent.resize(1 << 16);
  *buffer = lent.data();
  *size = lent.size();
  *most = 0;
  ++asked;
}
void take_buffer(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t valid) {
  filled = valid;
}

template <typename T>
T field(const std::uint8_t* row, std::size_t at) {
  T value;
  std::memcpy(&value, row + at, sizeof value);
  return value;
}

TEST_F(LiveCuptiThreads, RowsHaveSimulatedTimes) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    static const char function = 0;
    cuda("__cudaRegisterFunction", static_cast<void**>(nullptr), &function,
         static_cast<char*>(nullptr), "profiled_kernel", -1, static_cast<void*>(nullptr),
         static_cast<void*>(nullptr), static_cast<void*>(nullptr), static_cast<void*>(nullptr),
         static_cast<int*>(nullptr));
    // The stream is busy while the rest is put on it: work follows on work.
    cuda("cudaLaunchKernel", static_cast<const void*>(&function), Size3{1000000, 1, 1},
         Size3{256, 1, 1}, static_cast<void**>(nullptr), std::size_t{0},
         static_cast<void*>(nullptr));
    for (const unsigned kind : {1u, 2u, 5u, 10u, 39u}) cuda("cuptiActivityEnable", kind);
    cuda("cuptiActivityRegisterCallbacks", give_buffer, take_buffer);
    void *memory = nullptr, *from = nullptr, *to = nullptr;
    cuda("cudaMalloc", &memory, std::size_t{1} << 20);
    cuda("cudaEventCreate", &from);
    cuda("cudaEventCreate", &to);
    cuda("cuptiActivityPushExternalCorrelationId", 2, std::uint64_t{77});
    cuda("cudaEventRecord", from, static_cast<void*>(nullptr));
    cuda("cudaLaunchKernel", static_cast<const void*>(&function), Size3{4096, 2, 1},
         Size3{256, 1, 1}, static_cast<void**>(nullptr), std::size_t{64},
         static_cast<void*>(nullptr));
    cuda("cudaEventRecord", to, static_cast<void*>(nullptr));
    std::uint64_t last = 0;
    said["pop"] = cuda("cuptiActivityPopExternalCorrelationId", 2, &last);
    said["popped"] = static_cast<double>(last);
    said["nothing_left"] = cuda("cuptiActivityPopExternalCorrelationId", 2, &last);
    cuda("cudaMemsetAsync", memory, 1, std::size_t{1} << 20, static_cast<void*>(nullptr));
    cuda("cudaDeviceSynchronize");
    for (const unsigned kind : {1u, 2u, 5u, 10u, 39u}) cuda("cuptiActivityDisable", kind);
    cuda("cuptiActivityFlushAll", 0u);
    float milliseconds = 0;
    cuda("cudaEventElapsedTime", &milliseconds, from, to);

    std::uint32_t kernel_call = 0;
    std::set<std::uint32_t> named_calls;
    std::uint64_t kernel_end = 0, call_of_kernel_end = 0;
    for (std::uint8_t* row = nullptr;
         cuda("cuptiActivityGetNextRecord", lent.data(), filled, &row) == 0;) {
      const auto kind = field<std::uint32_t>(row, 0);
      said["rows_of_" + std::to_string(kind)] += 1;
      if (kind == 10) {
        const auto start = field<std::uint64_t>(row, 16);
        kernel_end = field<std::uint64_t>(row, 24);
        const double own = static_cast<double>(kernel_end - start);
        // Between the events there is nothing else.
        said["as_long"] = std::abs(own - milliseconds * 1e6) < 2 ? 1 : 0;
        said["name"] = std::string(field<const char*>(row, 104)) == "profiled_kernel" ? 1 : 0;
        said["grid"] = field<std::int32_t>(row, 52) + 10 * field<std::int32_t>(row, 56);
        said["shared"] = field<std::int32_t>(row, 80);
        said["stream"] = field<std::uint32_t>(row, 48);
        kernel_call = field<std::uint32_t>(row, 92);
      } else if (kind == 39 && field<std::uint64_t>(row, 8) == 77) {
        named_calls.insert(field<std::uint32_t>(row, 16));
      } else if (kind == 2) {
        said["after"] = field<std::uint64_t>(row, 16) >= kernel_end ? 1 : 0;
        said["bytes"] = static_cast<double>(field<std::uint64_t>(row, 8));
      } else if (kind == 5 && field<std::uint32_t>(row, 4) == 211) {
        call_of_kernel_end = field<std::uint64_t>(row, 16);
      }
    }
    said["named"] = named_calls.contains(kernel_call) ? 1 : 0;
    said["the_call_comes_first"] =
        call_of_kernel_end > 0 && call_of_kernel_end < kernel_end ? 1 : 0;
    const char* name = nullptr;
    cuda("cuptiGetCallbackName", 2, 211u, &name);
    said["call"] = std::string(name) == "cudaLaunchKernel_v7000" ? 1 : 0;
  });
  EXPECT_EQ(told, (Told{{"pop", 0},
                        {"popped", 77},
                        {"nothing_left", 19},
                        {"rows_of_2", 1},
                        {"rows_of_5", 5},
                        {"rows_of_10", 1},
                        {"rows_of_39", 3},
                        {"named", 1},
                        {"as_long", 1},
                        {"name", 1},
                        {"grid", 4116},
                        {"shared", 64},
                        {"stream", 7},
                        {"after", 1},
                        {"bytes", 1 << 20},
                        {"the_call_comes_first", 1},
                        {"call", 1}}));
}

}  // namespace
}  // namespace flopcast::live
