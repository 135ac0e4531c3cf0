// Programs that know nothing of Flopcast, against the stand-in libraries and a simulated cluster.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

using LiveShimThreads = LivePrograms;

TEST_F(LiveShimThreads, DevicesAreTheClustersChips) {
  const Told told = run("2 x dgx-h100", [](const Library& cuda, Told& said) {
    int value = 0;
    cuda("cudaGetDeviceCount", &value);
    said["devices"] = value;
    cuda("cudaDeviceGetAttribute", &value, 16, 0);
    said["cores"] = value;
    std::vector<char> properties(2048, 'x');
    cuda("cudaGetDeviceProperties", static_cast<void*>(properties.data()), 3);
    said["name"] = std::string(properties.data()) == "NVIDIA H100 80GB HBM3" ? 1 : 0;
    said["untouched"] = properties[1008] == 'x' ? 1 : 0;  // as large as CUDA 13 says
    said["no_such"] = cuda("cudaSetDevice", 8);
    said["last"] = cuda("cudaGetLastError");
    said["then"] = cuda("cudaGetLastError");
  });
  EXPECT_EQ(told, (Told{{"devices", 8},
                        {"cores", 132},
                        {"name", 1},
                        {"untouched", 1},
                        {"no_such", 101},
                        {"last", 101},
                        {"then", 0}}));
}

TEST_F(LiveShimThreads, MemoryRunsOutWhereTheChipsDoes) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    std::vector<void*> blocks;
    void* block = nullptr;
    // A part of the chip's 80 is the driver's, and one the process's context.
    std::size_t empty = 0, all = 0;
    cuda("cudaMemGetInfo", &empty, &all);
    said["megabytes"] = static_cast<double>(all >> 20);
    said["context"] = static_cast<double>((all - empty) >> 20);
    while (cuda("cudaMalloc", &block, std::size_t{1} << 30) == 0) blocks.push_back(block);
    said["gigabytes"] = static_cast<double>(blocks.size());
    std::size_t free = 0, total = 0;
    cuda("cudaMemGetInfo", &free, &total);
    said["free_below_one"] = free < (std::size_t{1} << 30) ? 1 : 0;
    for (void* each : blocks) cuda("cudaFree", each);
    cuda("cudaMemGetInfo", &free, &total);
    said["all_back"] = free == empty ? 1 : 0;
    // Small blocks share pages of 2 MiB, and go back with the last of them.
    void* small[3];
    for (void*& each : small) cuda("cudaMalloc", &each, std::size_t{1000});
    cuda("cudaMemGetInfo", &free, &total);
    said["one_page"] = empty - free == std::size_t{2} << 20 ? 1 : 0;
    for (void* each : small) cuda("cudaFree", each);
    cuda("cudaMemGetInfo", &free, &total);
    said["page_back"] = free == empty ? 1 : 0;
    said["not_ours"] = cuda("cudaFree", static_cast<void*>(&said));
  });
  EXPECT_EQ(told, (Told{{"megabytes", 80994},
                        {"context", 528},
                        {"gigabytes", 78},
                        {"free_below_one", 1},
                        {"all_back", 1},
                        {"one_page", 1},
                        {"page_back", 1},
                        {"not_ours", 1}}));
}

/// A fat binary of these parts, as programs register it: kind (1 assembly, 2 code), version, flags.
struct FatFile {
  struct Part {
    std::uint16_t kind, form = 0x101;
    std::uint32_t head = 64;
    std::uint64_t bytes = 8;
    std::uint32_t packing[3] = {};
    std::uint32_t version;
    std::uint32_t name[2] = {};
    std::uint64_t flags;
    std::uint64_t rest[2] = {}, code = 0;
  };
  struct Whole {
    std::uint32_t mark = 0xba55ed50;
    std::uint16_t version = 1, head = 16;
    std::uint64_t bytes = 0;
    Part parts[4];
  };
  FatFile(std::initializer_list<std::array<std::uint32_t, 3>> parts) {
    for (const auto& [kind, version, flags] : parts) {
      Part& part = whole.parts[whole.bytes / sizeof(Part)];
      part.kind = static_cast<std::uint16_t>(kind);
      part.version = version;
      part.flags = flags;
      whole.bytes += sizeof(Part);
    }
  }
  Whole whole;
  struct {
    std::uint32_t mark = 0x466243b1, version = 1;
    const void* binary;
    void* file = nullptr;
  } wrapper{.binary = &whole};
};

TEST_F(LiveShimThreads, KernelsAreOfAVersionThatTheirCodeHas) {
  const auto program = [](const Library& cuda, Told& said) {
    const FatFile several({{2, 80, 0}, {2, 86, 0}, {2, 90, 0}, {2, 89, 0x100000}});
    const FatFile newer({{2, 80, 0}, {2, 90, 0x100000}, {1, 75, 0}, {2, 120, 0}});
    const FatFile others({{2, 75, 0}, {2, 100, 0}});
    FatFile damaged({{2, 80, 0}});
    damaged.whole.parts[0].bytes = ~std::uint64_t{0} - 8;
    static const char functions[4] = {};
    const FatFile* const files[] = {&several, &newer, &others, &damaged};
    const char* const names[] = {"several", "newer", "others", "damaged"};
    for (int i = 0; i < 4; ++i) {
      cuda("__cudaRegisterFunction",
           const_cast<void*>(static_cast<const void*>(&files[i]->wrapper)), &functions[i],
           static_cast<char*>(nullptr), names[i], -1, static_cast<void*>(nullptr),
           static_cast<void*>(nullptr), static_cast<void*>(nullptr), static_cast<void*>(nullptr),
           static_cast<int*>(nullptr));
      struct {
        std::size_t sizes[3];
        int threads, registers, assembly, binary, rest[16];
      } attributes{};
      const std::string name = names[i];
      said[name + "_status"] = cuda("cudaFuncGetAttributes", &attributes, &functions[i]);
      said[name + "_assembly"] = attributes.assembly;
      said[name + "_binary"] = attributes.binary;
    }
  };
  const auto told = [&](const char* machine, const std::string& name) {
    Told all = run(machine, program);
    return std::array<double, 3>{all[name + "_status"], all[name + "_assembly"],
                                 all[name + "_binary"]};
  };
  using Versions = std::array<double, 3>;
  EXPECT_EQ(told("1 x rtx-4090", "several"), (Versions{0, 89, 89}));
  EXPECT_EQ(told("dgx-a100", "several"), (Versions{0, 80, 80}));
  EXPECT_EQ(told("1 x rtx-4090", "newer"), (Versions{0, 80, 80}));
  EXPECT_EQ(told("dgx-h100", "newer"), (Versions{0, 90, 90}));
  EXPECT_EQ(told("dgx-b200", "newer"), (Versions{0, 75, 100}));
  EXPECT_EQ(told("dgx-h100", "others"), (Versions{209, 0, 0}));
  EXPECT_EQ(told("dgx-h100", "damaged"), (Versions{0, 90, 90}));
}

TEST_F(LiveShimThreads, KernelsTakeTimeThatEventsMeasure) {
  const auto program = [](const Library& cuda, Told& said) {
    static const char function = 0;
    cuda("__cudaRegisterFunction", static_cast<void**>(nullptr), &function,
         static_cast<char*>(nullptr), "copy_kernel", -1, static_cast<void*>(nullptr),
         static_cast<void*>(nullptr), static_cast<void*>(nullptr), static_cast<void*>(nullptr),
         static_cast<int*>(nullptr));
    void *stream = nullptr, *before = nullptr, *after = nullptr, *kernel = nullptr;
    cuda("cudaStreamCreateWithFlags", &stream, 1u);
    cuda("cudaEventCreate", &before);
    cuda("cudaEventCreate", &after);
    cuda("__cudaGetKernel", &kernel, static_cast<const void*>(&function));
    cuda("cudaEventRecord", before, stream);
    cuda("__cudaLaunchKernel", kernel, Size3{1u << 20, 1, 1}, Size3{256, 1, 1},
         static_cast<void**>(nullptr), std::size_t{0}, stream);
    cuda("cudaEventRecord", after, stream);
    float milliseconds = -1;
    said["early"] = cuda("cudaEventElapsedTime", &milliseconds, before, after);
    said["running"] = cuda("cudaEventQuery", after);
    cuda("cudaEventSynchronize", after);
    said["done"] = cuda("cudaEventQuery", after);
    cuda("cudaEventElapsedTime", &milliseconds, before, after);
    said["ms"] = static_cast<double>(milliseconds);
  };
  const Told told = run("dgx-h100", program);
  EXPECT_EQ(told.at("early"), 600);
  EXPECT_EQ(told.at("running"), 600);
  EXPECT_EQ(told.at("done"), 0);
  // 2^28 threads of 16 bytes at 3.35 TB/s or a little slower.
  EXPECT_GT(told.at("ms"), 4.3e9 / 3.35e12 * 1e3);
  EXPECT_LT(told.at("ms"), 2.0 * 4.3e9 / 3.35e12 * 1e3);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(run("dgx-h100", program), told);
}

TEST_F(LiveShimThreads, ProductsOfBothLibrariesTakeWhatTheCostModelSays) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    constexpr int kBf16 = 14, kFp32Compute = 68;
    const void* const none = nullptr;
    void *from = nullptr, *to = nullptr, *handle = nullptr;
    cuda("cudaEventCreate", &from);
    cuda("cudaEventCreate", &to);
    const auto took = [&] {
      float milliseconds = 0;
      cuda("cudaEventSynchronize", to);
      cuda("cudaEventElapsedTime", &milliseconds, from, to);
      return static_cast<double>(milliseconds);
    };
    void* const stream = nullptr;
    cuda("cublasCreate_v2", &handle);
    cuda("cudaEventRecord", from, stream);
    cuda("cublasGemmEx", handle, 0, 0, 8192, 4096, 16384, none, none, kBf16, 8192, none, kBf16,
         16384, none, stream, kBf16, 8192, kFp32Compute, -1);
    cuda("cudaEventRecord", to, stream);
    said["gemm"] = took();

    void *lt = nullptr, *product = nullptr, *a = nullptr, *d = nullptr;
    cuda("cublasLtCreate", &lt);
    cuda("cublasLtMatmulDescCreate", &product, kFp32Compute, 0);
    const int transpose = 1;
    cuda("cublasLtMatmulDescSetAttribute", product, 3, static_cast<const void*>(&transpose),
         sizeof transpose);
    cuda("cublasLtMatrixLayoutCreate", &a, kBf16, std::uint64_t{16384}, std::uint64_t{8192},
         std::int64_t{16384});
    cuda("cublasLtMatrixLayoutCreate", &d, kBf16, std::uint64_t{8192}, std::uint64_t{4096},
         std::int64_t{8192});
    cuda("cudaEventRecord", from, stream);
    cuda("cublasLtMatmul", lt, product, none, none, a, none, stream, none, none, stream, stream, d,
         none, stream, std::size_t{0}, stream);
    cuda("cudaEventRecord", to, stream);
    said["lt"] = took();
  });
  Gemm gemm;
  gemm.m = 8192;
  gemm.n = 4096;
  gemm.k = 16384;
  const auto model = KernelModel::make(*Catalog::builtin().chip("h100"), Catalog::builtin());
  const double expected = model->time(gemm).time.value * 1e3;
  // Between the events lies what the host takes to call, which the product hides.
  EXPECT_NEAR(told.at("gemm") / expected, 1.0, 0.01);
  EXPECT_NEAR(told.at("lt") / expected, 1.0, 0.01);
}

struct Id {
  char text[128] = "everybody";
};

TEST_F(LiveShimThreads, CollectivesTakeWhatTheModelSaysWhenTheLastRankHasCome) {
  constexpr std::size_t kCount = std::size_t{64} << 20;
  const auto told = run_ranks("dgx-h100", 4, [&](const Library& cuda, Told& said, int rank) {
    void *all = nullptr, *from = nullptr, *to = nullptr;
    cuda("cudaSetDevice", rank);
    cuda("ncclCommInitRank", &all, 4, Id(), rank);
    void* const stream = nullptr;
    const void* const none = nullptr;
    // The last rank comes late by a kernel of some milliseconds.
    if (rank == 3) {
      cuda("cudaLaunchKernel", none, Size3{1u << 20, 1, 1}, Size3{256, 1, 1},
           static_cast<void**>(nullptr), std::size_t{0}, stream);
    }
    cuda("cudaEventCreate", &from);
    cuda("cudaEventCreate", &to);
    cuda("cudaEventRecord", from, stream);
    cuda("ncclAllReduce", none, stream, kCount, 7, 0, all, stream);
    cuda("cudaEventRecord", to, stream);
    cuda("cudaEventSynchronize", to);
    float milliseconds = 0;
    cuda("cudaEventElapsedTime", &milliseconds, from, to);
    said["ms"] = static_cast<double>(milliseconds);
  });
  const auto model = CollectiveModel::make(*Catalog::builtin().cluster("dgx-h100"));
  CollectiveQuery query;
  query.size = Bytes{4.0 * kCount};
  query.ranks = {0, 1, 2, 3};
  const double alone = model->time(query)->time.value * 1e3;
  EXPECT_NEAR(told[3].at("ms") / alone, 1.0, 0.02);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_GT(told[static_cast<std::size_t>(rank)].at("ms"), alone + 1.0);
}

TEST_F(LiveShimThreads, ACommunicatorIsSplitByColourAndKey) {
  const auto told = run_ranks("dgx-h100", 4, [](const Library& cuda, Told& said, int rank) {
    void *all = nullptr, *half = nullptr;
    cuda("ncclCommInitRank", &all, 4, Id(), rank);
    cuda("ncclCommSplit", all, rank % 2, -rank, &half, static_cast<void*>(nullptr));
    int place = -1, size = -1;
    cuda("ncclCommUserRank", half, &place);
    cuda("ncclCommCount", half, &size);
    said["rank"] = place;
    said["size"] = size;
    // Both halves work at the same time; sends and receives of one group call do not wait for each other.
    const void* const none = nullptr;
    void* const stream = nullptr;
    cuda("ncclGroupStart");
    cuda("ncclSend", none, std::size_t{1000}, 7, 1 - place, half, stream);
    cuda("ncclRecv", stream, std::size_t{1000}, 7, 1 - place, half, stream);
    cuda("ncclGroupEnd");
    said["waits"] = cuda("cudaDeviceSynchronize");
    void* nobody = &said;
    cuda("ncclCommSplit", all, -1, 0, &nobody, static_cast<void*>(nullptr));
    said["in_none"] = nobody == nullptr ? 1 : 0;
  });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Told expected{{"rank", rank < 2 ? 1 : 0}, {"size", 2}, {"waits", 0}, {"in_none", 1}};
    EXPECT_EQ(told[rank], expected) << rank;
  }
}

TEST_F(LiveShimThreads, TheDriversFunctionsAreAskedForAsBeforeCuda12) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    using Asks = int (*)(const char*, void**, int, std::uint64_t);
    void *found = nullptr, *nothing = nullptr;
    const char *own = "cuGetProcAddress", *none = "cuNothing";
    said["own"] = cuda(own, own, &found, 11000, std::uint64_t{0});
    said["none"] = reinterpret_cast<Asks>(found)(none, &nothing, 11000, 0);
  });
  EXPECT_EQ(told.at("own"), 0);
  EXPECT_EQ(told.at("none"), 500);
}

TEST_F(LiveShimThreads, SmallValuesGoThereAndBack) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    std::vector<int> numbers(1000), back(1000);
    for (int i = 0; i < 1000; ++i) numbers[static_cast<std::size_t>(i)] = i;
    void* device = nullptr;
    cuda("cudaMalloc", &device, std::size_t{4000});
    cuda("cudaMemcpy", device, static_cast<const void*>(numbers.data()), std::size_t{4000}, 1);
    cuda("cudaMemcpy", static_cast<void*>(back.data()), static_cast<const void*>(device),
         std::size_t{4000}, 4);
    said["same"] = back == numbers ? 1 : 0;
    cuda("cudaMemset", device, 0, std::size_t{4000});
    cuda("cudaMemcpy", static_cast<void*>(back.data()), static_cast<const void*>(device),
         std::size_t{4000}, 2);
    said["zero"] = back == std::vector<int>(1000) ? 1 : 0;
  });
  EXPECT_EQ(told, (Told{{"same", 1}, {"zero", 1}}));
}

TEST_F(LiveShimThreads, CopiesBetweenDevicesTakeTheirLinks) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    constexpr std::size_t kBytes = std::size_t{1} << 30;
    constexpr int kOnDevice = 3, kByAddress = 4;
    void *here = nullptr, *beside = nullptr, *there = nullptr, *from = nullptr, *to = nullptr;
    cuda("cudaMalloc", &here, kBytes);
    cuda("cudaMalloc", &beside, kBytes);
    cuda("cudaSetDevice", 1);
    cuda("cudaMalloc", &there, kBytes);
    cuda("cudaSetDevice", 0);
    cuda("cudaEventCreate", &from);
    cuda("cudaEventCreate", &to);
    void* const stream = nullptr;
    const auto took = [&](const auto& copy) {
      cuda("cudaEventRecord", from, stream);
      copy();
      cuda("cudaEventRecord", to, stream);
      cuda("cudaEventSynchronize", to);
      float milliseconds = 0;
      cuda("cudaEventElapsedTime", &milliseconds, from, to);
      return static_cast<double>(milliseconds);
    };
    const auto copied = [&](void* target, void* source, int how) {
      return took([&] {
        cuda("cudaMemcpyAsync", target, static_cast<const void*>(source), kBytes, how, stream);
      });
    };
    said["on_chip"] = copied(beside, here, kOnDevice);
    said["told"] = copied(there, here, kOnDevice);
    said["found"] = copied(here, there, kByAddress);
    said["peer"] = took([&] {
      cuda("cudaMemcpyPeerAsync", there, 1, static_cast<const void*>(here), 0, kBytes, stream);
    });
  });
  // 2 x 1.07 GB through HBM of 3.35 TB/s; once over NVLink of 450 GB/s.
  EXPECT_GT(told.at("on_chip"), 0.64);
  EXPECT_LT(told.at("on_chip"), 1.0);
  for (const char* const way : {"told", "found", "peer"}) {
    EXPECT_GT(told.at(way), 2.38) << way;
    EXPECT_LT(told.at(way), 4.0) << way;
  }
}

}  // namespace
}  // namespace flopcast::live
