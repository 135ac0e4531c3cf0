// Pools, and what pointers say of themselves.
#include <gtest/gtest.h>

#include <string>

#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

using LivePoolThreads = LivePrograms;

TEST_F(LivePoolThreads, APoolKnowsWhatIsTakenFromIt) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void *pool = nullptr, *first = nullptr, *second = nullptr, *stream = nullptr;
    cuda("cudaDeviceGetDefaultMemPool", &pool, 0);
    cuda("cudaMallocAsync", &first, std::size_t{1} << 20, stream);
    cuda("cudaMallocAsync", &second, std::size_t{3} << 20, stream);
    cuda("cudaFreeAsync", first, stream);
    std::uint64_t value = 0;
    cuda("cudaMemPoolGetAttribute", pool, 7, static_cast<void*>(&value));
    said["used"] = static_cast<double>(value);
    cuda("cudaMemPoolGetAttribute", pool, 8, static_cast<void*>(&value));
    said["most"] = static_cast<double>(value);
    value = 1 << 30;
    cuda("cudaMemPoolSetAttribute", pool, 4, static_cast<void*>(&value));
    value = 0;
    cuda("cudaMemPoolGetAttribute", pool, 4, static_cast<void*>(&value));
    said["threshold"] = static_cast<double>(value);
    cuda("cudaFree", second);
  });
  EXPECT_EQ(told, (Told{{"used", 3 << 20}, {"most", 4 << 20}, {"threshold", 1 << 30}}));
}

TEST_F(LivePoolThreads, PointersSayWhereTheyPoint) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void *device = nullptr, *pinned = nullptr;
    cuda("cudaMalloc", &device, std::size_t{4} << 20);
    cuda("cudaMallocHost", &pinned, std::size_t{100});
    const auto inside = reinterpret_cast<std::uintptr_t>(device) + 1000;
    std::uintptr_t start = 0;
    std::size_t size = 0;
    int type = 0;
    cuda("cuPointerGetAttribute", static_cast<void*>(&start), 11, inside);
    cuda("cuPointerGetAttribute", static_cast<void*>(&size), 12, inside);
    said["start"] = start == reinterpret_cast<std::uintptr_t>(device) ? 1 : 0;
    said["size"] = static_cast<double>(size);
    cuda("cuPointerGetAttribute", static_cast<void*>(&type), 2, inside);
    said["device"] = type;
    cuda("cuPointerGetAttribute", static_cast<void*>(&type), 2,
         reinterpret_cast<std::uintptr_t>(pinned));
    said["host"] = type;
    said["unknown"] = cuda("cuPointerGetAttribute", static_cast<void*>(&type), 2,
                           reinterpret_cast<std::uintptr_t>(&type));
  });
  EXPECT_EQ(told,
            (Told{{"start", 1}, {"size", 4 << 20}, {"device", 2}, {"host", 1}, {"unknown", 1}}));
}

}  // namespace
}  // namespace flopcast::live
