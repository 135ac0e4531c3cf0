// CUDA graphs: what is captured or built is done at each launch, in its order, and side by side where nothing orders it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

using LiveGraphThreads = LivePrograms;

/// A kernel that a program has registered.
struct TestKernel {
  const void* function = nullptr;
  void operator()(const Library& cuda, unsigned blocks, void* stream) const {
    cuda("cudaLaunchKernel", function, Size3{blocks, 1, 1}, Size3{256, 1, 1},
         static_cast<void**>(nullptr), std::size_t{0}, stream);
  }
};
TestKernel registered(const Library& cuda, const char* name) {
  static const char functions[16] = {};
  static int used = 0;
  const TestKernel kernel{&functions[used++]};
  cuda("__cudaRegisterFunction", static_cast<void**>(nullptr),
       static_cast<const char*>(kernel.function), static_cast<char*>(nullptr), name, -1,
       static_cast<void*>(nullptr), static_cast<void*>(nullptr), static_cast<void*>(nullptr),
       static_cast<void*>(nullptr), static_cast<int*>(nullptr));
  return kernel;
}

void* made(const Library& cuda, const char* how) {
  void* object = nullptr;
  cuda(how, &object);
  return object;
}

/// Milliseconds that launches of a graph take on a stream.
float time_of(const Library& cuda, void* executable, void* stream) {
  void *from = made(cuda, "cudaEventCreate"), *to = made(cuda, "cudaEventCreate");
  cuda("cudaEventRecord", from, stream);
  cuda("cudaGraphLaunch", executable, stream);
  cuda("cudaEventRecord", to, stream);
  cuda("cudaStreamSynchronize", stream);
  float milliseconds = 0;
  cuda("cudaEventElapsedTime", &milliseconds, from, to);
  return milliseconds;
}

void* executable_of(const Library& cuda, void* graph) {
  void* executable = nullptr;
  cuda("cudaGraphInstantiate", &executable, graph, 0ULL);
  return executable;
}

TEST_F(LiveGraphThreads, WhatIsCapturedIsDoneAtEachLaunch) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void *memory = nullptr, *pinned = nullptr, *stream = made(cuda, "cudaStreamCreate");
    cuda("cudaMalloc", &memory, std::size_t{4});
    cuda("cudaHostAlloc", &pinned, std::size_t{4}, 0u);
    auto& host = *static_cast<unsigned*>(pinned);
    said["begin"] = cuda("cudaStreamBeginCapture", stream, 0);
    int status = 0;
    cuda("cudaStreamIsCapturing", stream, &status);
    said["captures"] = status;
    cuda("cudaMemsetAsync", memory, 7, std::size_t{4}, stream);
    cuda("cudaMemcpyAsync", pinned, static_cast<const void*>(memory), std::size_t{4}, 2, stream);
    void* graph = nullptr;
    said["end"] = cuda("cudaStreamEndCapture", stream, &graph);
    said["before"] = host;
    std::size_t nodes = 0;
    cuda("cudaGraphGetNodes", graph, static_cast<void**>(nullptr), &nodes);
    said["nodes"] = static_cast<double>(nodes);
    void* const executable = executable_of(cuda, graph);
    cuda("cudaGraphLaunch", executable, stream);
    cuda("cudaStreamSynchronize", stream);
    said["after"] = host;
    host = 0;
    cuda("cudaGraphLaunch", executable, stream);
    cuda("cudaStreamSynchronize", stream);
    said["again"] = host;
    said["gone"] = cuda("cudaGraphExecDestroy", executable) + cuda("cudaGraphDestroy", graph);
  });
  EXPECT_EQ(told, (Told{{"begin", 0},
                        {"captures", 1},
                        {"end", 0},
                        {"before", 0},
                        {"nodes", 2},
                        {"after", 0x07070707},
                        {"again", 0x07070707},
                        {"gone", 0}}));
}

TEST_F(LiveGraphThreads, BranchesRunSideBySide) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const TestKernel kernel = registered(cuda, "long_kernel");
    void *first = made(cuda, "cudaStreamCreate"), *second = made(cuda, "cudaStreamCreate");
    void *fork = made(cuda, "cudaEventCreate"), *join = made(cuda, "cudaEventCreate");
    void *branches = nullptr, *chain = nullptr;
    cuda("cudaStreamBeginCapture", first, 0);
    cuda("cudaEventRecord", fork, first);
    cuda("cudaStreamWaitEvent", second, fork, 0u);
    kernel(cuda, 100000, first);
    kernel(cuda, 100000, second);
    cuda("cudaEventRecord", join, second);
    cuda("cudaStreamWaitEvent", first, join, 0u);
    said["end"] = cuda("cudaStreamEndCapture", first, &branches);
    cuda("cudaStreamBeginCapture", first, 0);
    kernel(cuda, 100000, first);
    kernel(cuda, 100000, first);
    cuda("cudaStreamEndCapture", first, &chain);
    const float side_by_side = time_of(cuda, executable_of(cuda, branches), first);
    const float in_turn = time_of(cuda, executable_of(cuda, chain), first);
    said["faster"] = side_by_side < 0.6f * in_turn ? 1 : 0;
    said["takes_time"] = side_by_side > 0.05f ? 1 : 0;
  });
  EXPECT_EQ(told, (Told{{"end", 0}, {"faster", 1}, {"takes_time", 1}}));
}

TEST_F(LiveGraphThreads, ALaunchIsOneCallOfTheHost) {
  run("dgx-h100", [](const Library& cuda, Told&) {
    const TestKernel kernel = registered(cuda, "small_kernel");
    void* const stream = made(cuda, "cudaStreamCreate");
    void* graph = nullptr;
    cuda("cudaStreamBeginCapture", stream, 0);
    for (int i = 0; i < 20; ++i) kernel(cuda, 1, stream);
    cuda("cudaStreamEndCapture", stream, &graph);
    cuda("cudaGraphLaunch", executable_of(cuda, graph), stream);
    cuda("cudaStreamSynchronize", stream);
  });
  const auto count = [this](const std::string& what) {
    return std::count_if(tasks().begin(), tasks().end(),
                         [&](const std::string& task) { return task.ends_with(what); });
  };
  EXPECT_EQ(count("graph launch"), 1);
  EXPECT_EQ(count("small_kernel"), 20);  // on the stream alone: none has a call
}

TEST_F(LiveGraphThreads, WhatIsUnsafeInACaptureIsRefused) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void *first = made(cuda, "cudaStreamCreate"), *second = made(cuda, "cudaStreamCreate");
    void *fork = made(cuda, "cudaEventCreate"), *graph = nullptr;
    said["default_stream"] = cuda("cudaStreamBeginCapture", static_cast<void*>(nullptr), 0);
    cuda("cudaStreamBeginCapture", first, 0);
    said["wait"] = cuda("cudaStreamSynchronize", first);
    said["then"] = cuda("cudaStreamEndCapture", first, &graph);
    said["no_graph"] = graph == nullptr ? 1 : 0;
    // Work of a stream that joined, and that nothing waits for.
    const TestKernel kernel = registered(cuda, "lost_kernel");
    cuda("cudaStreamBeginCapture", first, 0);
    cuda("cudaEventRecord", fork, first);
    said["query"] = cuda("cudaEventQuery", fork);
    cuda("cudaStreamWaitEvent", second, fork, 0u);
    kernel(cuda, 1, second);
    said["wrong_stream"] = cuda("cudaStreamEndCapture", second, &graph);
    said["unjoined"] = cuda("cudaStreamEndCapture", first, &graph);
    said["usable"] = cuda("cudaStreamSynchronize", second);
  });
  EXPECT_EQ(told, (Told{{"default_stream", 900},
                        {"wait", 900},
                        {"then", 901},
                        {"no_graph", 1},
                        {"query", 907},
                        {"wrong_stream", 903},
                        {"unjoined", 904},
                        {"usable", 0}}));
}

void add_one(void* number) { ++*static_cast<int*>(number); }

TEST_F(LiveGraphThreads, ProgramsBuildGraphsNodeByNode) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    struct Fill {
      void* to;
      std::size_t pitch;
      unsigned value, bytes;
      std::size_t width, height;
    };
    struct Function {
      void (*function)(void*);
      void* data;
    };
    void *memory = nullptr, *graph = nullptr, *inner = nullptr;
    cuda("cudaMalloc", &memory, std::size_t{64});
    int calls = 0;
    const Function function{add_one, &calls};
    Fill fill{memory, 0, 0x01020304, 4, 2, 1};
    void *first = nullptr, *second = nullptr, *third = nullptr;
    cuda("cudaGraphCreate", &inner, 0u);
    cuda("cudaGraphAddHostNode", &first, inner, static_cast<void**>(nullptr), std::size_t{0},
         &function);
    cuda("cudaGraphCreate", &graph, 0u);
    cuda("cudaGraphAddMemsetNode", &first, graph, static_cast<void**>(nullptr), std::size_t{0},
         &fill);
    cuda("cudaGraphAddChildGraphNode", &second, graph, &first, std::size_t{1}, inner);
    cuda("cudaGraphAddHostNode", &third, graph, &second, std::size_t{1}, &function);
    void* const executable = executable_of(cuda, graph);
    cuda("cudaGraphLaunch", executable, static_cast<void*>(nullptr));
    said["calls"] = calls;
    said["filled"] = static_cast<unsigned*>(memory)[1];
    fill.value = 5;
    said["changed"] = cuda("cudaGraphExecMemsetNodeSetParams", executable, first, &fill);
    cuda("cudaGraphLaunch", executable, static_cast<void*>(nullptr));
    said["filled_anew"] = static_cast<unsigned*>(memory)[1];
    // Another shape is no update.
    cuda("cudaGraphAddEmptyNode", &third, graph, static_cast<void**>(nullptr), std::size_t{0});
    std::uint64_t result[3] = {};
    said["updated"] = cuda("cudaGraphExecUpdate", executable, graph, static_cast<void*>(result));
    // Nor are nodes that wait for each other a graph.
    void* const edges = nullptr;
    cuda("cudaGraphAddDependencies", graph, &third, &first, edges, std::size_t{1});
    cuda("cudaGraphAddDependencies", graph, &first, &third, edges, std::size_t{1});
    void* none = nullptr;
    said["circle"] = cuda("cudaGraphInstantiate", &none, graph, 0ULL);
  });
  EXPECT_EQ(told, (Told{{"calls", 2},
                        {"filled", 0x01020304},
                        {"changed", 0},
                        {"filled_anew", 5},
                        {"updated", 910},
                        {"circle", 1}}));
}

}  // namespace
}  // namespace flopcast::live
