// Mathematical libraries: what a call is as a kernel, and that sizes agree with each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

class LiveMathThreads : public LivePrograms {
 protected:
  /// How many tasks have this name: a call and its kernel, each.
  std::ptrdiff_t count(const std::string& name) const {
    return std::count_if(tasks().begin(), tasks().end(),
                         [&](const std::string& task) { return task.ends_with(" " + name); });
  }
};

void* made_by(const Library& cuda, const char* how) {
  void* object = nullptr;
  cuda(how, &object);
  return object;
}

TEST_F(LiveMathThreads, SolversAreKernelsWhoseStatusIsZero) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void *handle = made_by(cuda, "cusolverDnCreate"), *stream = made_by(cuda, "cudaStreamCreate");
    cuda("cusolverDnSetStream", handle, stream);
    void* memory = nullptr;
    cuda("cudaMalloc", &memory, std::size_t{1} << 20);
    auto* const info = static_cast<int*>(memory);
    *info = 99;
    void* const none = nullptr;
    int size = 99;
    said["ask"] = cuda("cusolverDnSgetrf_bufferSize", handle, 512, 512, none, 512, &size);
    said["size"] = size;
    said["factor"] = cuda("cusolverDnSgetrf", handle, 512, 512, none, 512, none,
                          static_cast<int*>(nullptr), info);
    cuda("cudaStreamSynchronize", stream);
    said["info"] = *info;
    int on_host[2] = {9, 9};
    cuda("cublasSgetrsBatched", made_by(cuda, "cublasCreate_v2"), 0, 8, 1, none, 8, none, none, 8,
         static_cast<int*>(on_host), 2);
    said["on_host"] = on_host[0];
  });
  EXPECT_EQ(told, (Told{{"ask", 0}, {"size", 0}, {"factor", 0}, {"info", 0}, {"on_host", 0}}));
  // (2/3) 512^3 operations are 170 multiplications with additions for each element.
  EXPECT_GT(count("gemm fp32 512 512 170 1 cusolverDnSgetrf"), 0);
}

TEST_F(LiveMathThreads, ProductsOfAllTypesHaveTheirSizes) {
  run("dgx-h100", [](const Library& cuda, Told&) {
    void *handle = made_by(cuda, "cublasCreate_v2"), *none = nullptr;
    cuda("cublasDgemm_v2", handle, 0, 0, 3, 4, 5, none, none, 3, none, 5, none, none, 3);
    cuda("cublasCgemmStridedBatched", handle, 0, 0, 3, 4, 5, none, none, 3, 15LL, none, 5, 20LL,
         none, none, 3, 12LL, 7);
    cuda("cublasStrsm_v2", handle, 0, 0, 0, 0, 64, 32, none, none, 64, none, 64);
    cuda("cudaDeviceSynchronize");
  });
  EXPECT_GT(count("gemm fp32 3 4 5 1 cublasDgemm_v2"), 0);
  EXPECT_GT(count("gemm fp32 3 4 20 7 cublasCgemmStridedBatched"), 0);  // four products of reals
  EXPECT_GT(count("gemm fp32 64 32 32 1 cublasStrsm_v2"), 0);           // half of a square
}

TEST_F(LiveMathThreads, WeightsOfRecurrentNetworksFillTheirSpaceOnce) {
  constexpr int kLstm = 2, kGru = 3;
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void *handle = made_by(cuda, "cudnnCreate"),
         *tensor = made_by(cuda, "cudnnCreateTensorDescriptor"),
         *bias = made_by(cuda, "cudnnCreateTensorDescriptor");
    for (const int cell : {kLstm, kGru}) {
      void* const rnn = made_by(cuda, "cudnnCreateRNNDescriptor");
      // Two layers in both directions, of 32 inputs and 64 hidden numbers.
      cuda("cudnnSetRNNDescriptor_v8", rnn, 0, cell, 2, 1, 0, 0, 0, 0, 32, 64, 64, 2,
           static_cast<void*>(nullptr), 0u);
      std::size_t space = 0;
      cuda("cudnnGetRNNWeightSpaceSize", handle, rnn, &space);
      const auto base = std::uintptr_t{1} << 30;
      std::map<std::uintptr_t, std::size_t> pieces;
      const int gates = cell == kLstm ? 4 : 3;
      for (int layer = 0; layer < 4; ++layer) {
        for (int part = 0; part < 2 * gates; ++part) {
          void *matrix_at = nullptr, *bias_at = nullptr;
          cuda("cudnnGetRNNWeightParams", handle, rnn, layer, space,
               reinterpret_cast<const void*>(base), part, tensor, &matrix_at, bias, &bias_at);
          std::size_t bytes = 0;
          cuda("cudnnGetTensorSizeInBytes", tensor, &bytes);
          pieces[reinterpret_cast<std::uintptr_t>(matrix_at)] = bytes;
          cuda("cudnnGetTensorSizeInBytes", bias, &bytes);
          pieces[reinterpret_cast<std::uintptr_t>(bias_at)] = bytes;
        }
      }
      std::uintptr_t at = base;
      for (const auto& [place, bytes] : pieces) at = place == at ? at + bytes : 0;
      said[cell == kLstm ? "lstm" : "gru"] = at == base + space ? 1 : 0;
      said[cell == kLstm ? "lstm_pieces" : "gru_pieces"] = static_cast<double>(pieces.size());
    }
    cuda("cudaDeviceSynchronize");  // a run ends when its process has been heard
  });
  EXPECT_EQ(told, (Told{{"lstm", 1}, {"lstm_pieces", 64}, {"gru", 1}, {"gru_pieces", 48}}));
}

/// cuDNN's backend as its frontend uses it.
class Backend {
 public:
  explicit Backend(const Library& cuda) : cuda_(cuda) {}
  void* make(int kind) const {
    void* descriptor = nullptr;
    cuda_("cudnnBackendCreateDescriptor", kind, &descriptor);
    return descriptor;
  }
  void set(void* descriptor, int attribute, std::vector<std::int64_t> numbers) const {
    cuda_("cudnnBackendSetAttribute", descriptor, attribute, 3,
          static_cast<std::int64_t>(numbers.size()), static_cast<const void*>(numbers.data()));
  }
  void set(void* descriptor, int attribute, void* part) const {
    cuda_("cudnnBackendSetAttribute", descriptor, attribute, 15, std::int64_t{1},
          static_cast<const void*>(&part));
  }
  void set_type(void* descriptor, int attribute, int type) const {
    cuda_("cudnnBackendSetAttribute", descriptor, attribute, 1, std::int64_t{1},
          static_cast<const void*>(&type));
  }
  void* tensor(std::int64_t id, const std::vector<std::int64_t>& sizes) const {
    void* const made = make(17);
    set_type(made, 901, 0);
    set(made, 902, sizes);
    set(made, 903, sizes);
    set(made, 906, std::vector<std::int64_t>{id});
    return made;
  }
  void drop(void* descriptor) const { cuda_("cudnnBackendDestroyDescriptor", descriptor); }

 private:
  const Library& cuda_;
};

TEST_F(LiveMathThreads, AConvolutionIsAProduct) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const Backend dnn(cuda);
    void *operation = dnn.make(10), *graph = dnn.make(15), *heuristics = dnn.make(4);
    // 8 images of 3 x 224 x 224, 64 filters of 3 x 7 x 7, every second place.
    void *data = dnn.tensor(1, {8, 3, 224, 224}), *filter = dnn.tensor(2, {64, 3, 7, 7}),
         *result = dnn.tensor(3, {8, 64, 112, 112});
    dnn.set(operation, 704, data);
    dnn.set(operation, 703, filter);
    dnn.set(operation, 705, result);
    dnn.set(graph, 801, operation);
    dnn.set(heuristics, 201, graph);
    void* configurations[3] = {dnn.make(3), dnn.make(3), dnn.make(3)};
    std::int64_t count = 0;
    cuda("cudnnBackendGetAttribute", heuristics, 202, 15, std::int64_t{3}, &count,
         static_cast<void*>(configurations));
    said["engines"] = static_cast<double>(count);
    void* plans[2] = {dnn.make(5), dnn.make(5)};
    for (int i = 0; i < 2; ++i) dnn.set(plans[i], 401, configurations[i]);
    void* const engine = dnn.make(2);
    cuda("cudnnBackendGetAttribute", configurations[1], 300, 15, std::int64_t{1}, &count,
         static_cast<void*>(const_cast<void**>(&engine)));
    int notes[8];
    cuda("cudnnBackendGetAttribute", engine, 1303, 11, std::int64_t{8}, &count,
         static_cast<void*>(notes));
    said["notes_of_the_second"] = static_cast<double>(count);
    // Plans outlive what they were made of.
    for (void* each : {operation, graph, heuristics, data, filter, result, configurations[0],
                       configurations[1], engine})
      dnn.drop(each);
    void* const handle = made_by(cuda, "cudnnCreate");
    for (void* plan : plans) cuda("cudnnBackendExecute", handle, plan, static_cast<void*>(nullptr));
    cuda("cudaDeviceSynchronize");
  });
  EXPECT_EQ(told, (Told{{"engines", 2}, {"notes_of_the_second", 0}}));
  EXPECT_GT(count("gemm tf32 100352 64 147 1 cudnn convolution forward"), 0);
  EXPECT_GT(count("gemm fp32 100352 64 147 1 cudnn convolution forward"), 0);
}

TEST_F(LiveMathThreads, TransformsMoveTheirBytes) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    int plan = 0;
    cuda("cufftCreate", &plan);
    long long size = 1000;
    std::size_t workspace = 9;
    // Real numbers of 32 bits (0) become half as many complex ones (4), twice 64.
    said["plan"] =
        cuda("cufftXtMakePlanMany", plan, 1, &size, static_cast<long long*>(nullptr), 1LL, 1000LL,
             0, static_cast<long long*>(nullptr), 1LL, 501LL, 4, 128LL, &workspace, 4);
    said["workspace"] = static_cast<double>(workspace);
    cuda("cufftXtExec", plan, static_cast<void*>(nullptr), static_cast<void*>(nullptr), -1);
    cuda("cufftDestroy", plan);
    said["gone"] =
        cuda("cufftXtExec", plan, static_cast<void*>(nullptr), static_cast<void*>(nullptr), -1);
    cuda("cudaDeviceSynchronize");
  });
  EXPECT_EQ(told, (Told{{"plan", 0}, {"workspace", 0}, {"gone", 1}}));
  EXPECT_GT(count("memory 512000 512000 cufft transform"), 0);
}

}  // namespace
}  // namespace flopcast::live
