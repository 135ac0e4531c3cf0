// cuDNN's older functions for layers: convolutions, batch normalisation, pooling.
#include "live/standin/api/api.h"
#include "live/standin/math/dnn.h"
#include "live/standin/math/dnn_tensor.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

struct ConvolutionDescriptor {
  int groups = 1;
  int math = 0;  ///< cudnnMathType_t; 3: operands of 32 bits stay as they are
  bool tensor_cores() const { return math != 3; }
};
ConvolutionDescriptor& convolution_of(void* descriptor) {
  return *static_cast<ConvolutionDescriptor*>(descriptor);
}

/// cudnnConvolutionFwdAlgoPerf_t and its two siblings
struct AlgorithmPerformance {
  int algorithm, status;
  float milliseconds;
  std::size_t workspace;
  int deterministic, math;
  int reserved[3];
};

/// One algorithm, which needs no workspace.
int give_algorithm(int asked, int* found, AlgorithmPerformance* results) {
  if (asked < 1) return kDnnBadParameter;
  *results = {1, kDnnSuccess, 1, 0, 1, 1, {}};
  if (found) *found = 1;
  return kDnnSuccess;
}

int no_workspace(std::size_t* bytes) {
  *bytes = 0;
  return kDnnSuccess;
}

/// A layer that reads and writes whole tensors so many times.
int submit_layer(void* handle, void* tensor, int read, int written, const char* name) {
  const double bytes = dnn_tensor(tensor).bytes();
  submit_memory(stream_of_dnn(handle), read * bytes, written * bytes, name);
  return kDnnSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudnnCreateConvolutionDescriptor(void** descriptor) {
  return make_dnn<ConvolutionDescriptor>(descriptor);
}
FLOPCAST_API int cudnnDestroyConvolutionDescriptor(void* descriptor) {
  return drop_dnn<ConvolutionDescriptor>(descriptor);
}
FLOPCAST_API int cudnnSetConvolutionNdDescriptor(void*, int, const int*, const int*, const int*,
                                                 int, int) {
  return kDnnSuccess;  // the results' sizes say it all
}
FLOPCAST_API int cudnnSetConvolutionGroupCount(void* descriptor, int groups) {
  convolution_of(descriptor).groups = groups;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnSetConvolutionMathType(void* descriptor, int math) {
  convolution_of(descriptor).math = math;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetConvolutionMathType(void* descriptor, int* math) {
  *math = convolution_of(descriptor).math;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetConvolutionForwardWorkspaceSize(void*, void*, void*, void*, void*, int,
                                                         std::size_t* bytes) {
  return no_workspace(bytes);
}
FLOPCAST_API int cudnnGetConvolutionBackwardDataWorkspaceSize(void*, void*, void*, void*, void*,
                                                              int, std::size_t* bytes) {
  return no_workspace(bytes);
}
FLOPCAST_API int cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, void*, void*, void*, void*,
                                                                int, std::size_t* bytes) {
  return no_workspace(bytes);
}
FLOPCAST_API int cudnnGetConvolutionForwardAlgorithm_v7(void*, void*, void*, void*, void*,
                                                        int asked, int* found,
                                                        AlgorithmPerformance* results) {
  return give_algorithm(asked, found, results);
}
FLOPCAST_API int cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void*, void*, void*, void*,
                                                             int asked, int* found,
                                                             AlgorithmPerformance* results) {
  return give_algorithm(asked, found, results);
}
FLOPCAST_API int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void*, void*, void*, void*,
                                                               int asked, int* found,
                                                               AlgorithmPerformance* results) {
  return give_algorithm(asked, found, results);
}
FLOPCAST_API int cudnnFindConvolutionForwardAlgorithmEx(void*, void*, const void*, void*,
                                                        const void*, void*, void*, void*, int asked,
                                                        int* found, AlgorithmPerformance* results,
                                                        void*, std::size_t) {
  return give_algorithm(asked, found, results);
}
FLOPCAST_API int cudnnFindConvolutionBackwardDataAlgorithmEx(void*, void*, const void*, void*,
                                                             const void*, void*, void*, void*,
                                                             int asked, int* found,
                                                             AlgorithmPerformance* results, void*,
                                                             std::size_t) {
  return give_algorithm(asked, found, results);
}
FLOPCAST_API int cudnnFindConvolutionBackwardFilterAlgorithmEx(void*, void*, const void*, void*,
                                                               const void*, void*, void*, void*,
                                                               int asked, int* found,
                                                               AlgorithmPerformance* results, void*,
                                                               std::size_t) {
  return give_algorithm(asked, found, results);
}
FLOPCAST_API int cudnnConvolutionForward(void* handle, const void*, void* data, const void*,
                                         void* filter, const void*, void* how, int, void*,
                                         std::size_t, const void*, void* result, void*) {
  submit_convolution(stream_of_dnn(handle), Convolution::kForward, dnn_tensor(data),
                     dnn_tensor(filter), dnn_tensor(result), convolution_of(how).tensor_cores());
  return kDnnSuccess;
}
FLOPCAST_API int cudnnConvolutionBiasActivationForward(void* handle, const void* alpha, void* data,
                                                       const void* x, void* filter, const void* w,
                                                       void* how, int algorithm, void* workspace,
                                                       std::size_t bytes, const void* beta, void*,
                                                       const void*, void*, const void*, void*,
                                                       void* result, void* y) {
  return cudnnConvolutionForward(handle, alpha, data, x, filter, w, how, algorithm, workspace,
                                 bytes, beta, result, y);
}
FLOPCAST_API int cudnnConvolutionBackwardData(void* handle, const void*, void* filter, const void*,
                                              void* result, const void*, void* how, int, void*,
                                              std::size_t, const void*, void* data, void*) {
  submit_convolution(stream_of_dnn(handle), Convolution::kBackwardData, dnn_tensor(data),
                     dnn_tensor(filter), dnn_tensor(result), convolution_of(how).tensor_cores());
  return kDnnSuccess;
}
FLOPCAST_API int cudnnConvolutionBackwardFilter(void* handle, const void*, void* data, const void*,
                                                void* result, const void*, void* how, int, void*,
                                                std::size_t, const void*, void* filter, void*) {
  submit_convolution(stream_of_dnn(handle), Convolution::kBackwardFilter, dnn_tensor(data),
                     dnn_tensor(filter), dnn_tensor(result), convolution_of(how).tensor_cores());
  return kDnnSuccess;
}

FLOPCAST_API int cudnnCreateActivationDescriptor(void** descriptor) {
  return make_dnn<int>(descriptor);
}
FLOPCAST_API int cudnnDestroyActivationDescriptor(void* descriptor) {
  return drop_dnn<int>(descriptor);
}
FLOPCAST_API int cudnnSetActivationDescriptor(void*, int, int, double) { return kDnnSuccess; }

FLOPCAST_API int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*,
                                                                          void*, void*, void*,
                                                                          void*,
                                                                          std::size_t* bytes) {
  return no_workspace(bytes);
}
FLOPCAST_API int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*,
                                                                   void*, void*, void*, void*,
                                                                   void*, std::size_t* bytes) {
  return no_workspace(bytes);
}
FLOPCAST_API int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*,
                                                                      std::size_t* bytes) {
  return no_workspace(bytes);
}
/// Statistics first, then the result: the data is read twice.
FLOPCAST_API int cudnnBatchNormalizationForwardTrainingEx(void* handle, int, int, const void*,
                                                          const void*, void* data, const void*,
                                                          void*, const void*, void*, void*, void*,
                                                          const void*, const void*, double, void*,
                                                          void*, double, void*, void*, void*, void*,
                                                          std::size_t, void*, std::size_t) {
  return submit_layer(handle, data, 2, 1, "cudnn batch normalization forward");
}
/// Sums over data and gradients first, then the gradients of the data.
FLOPCAST_API int cudnnBatchNormalizationBackwardEx(void* handle, int, int, const void*, const void*,
                                                   const void*, const void*, void* data,
                                                   const void*, void*, const void*, void*,
                                                   const void*, void*, void*, void*, void*, void*,
                                                   const void*, const void*, void*, void*, double,
                                                   const void*, const void*, void*, void*,
                                                   std::size_t, void*, std::size_t) {
  return submit_layer(handle, data, 4, 1, "cudnn batch normalization backward");
}
FLOPCAST_API int cudnnBatchNormalizationForwardInference(void* handle, int, const void*,
                                                         const void*, void* data, const void*,
                                                         void*, void*, void*, const void*,
                                                         const void*, const void*, const void*,
                                                         double) {
  return submit_layer(handle, data, 1, 1, "cudnn batch normalization inference");
}

FLOPCAST_API int cudnnCreatePoolingDescriptor(void** descriptor) {
  return make_dnn<int>(descriptor);
}
FLOPCAST_API int cudnnDestroyPoolingDescriptor(void* descriptor) {
  return drop_dnn<int>(descriptor);
}
FLOPCAST_API int cudnnSetPooling2dDescriptor(void*, int, int, int, int, int, int, int, int) {
  return kDnnSuccess;
}
FLOPCAST_API int cudnnPoolingForward(void* handle, void*, const void*, void* data, const void*,
                                     const void*, void* result, void*) {
  submit_memory(stream_of_dnn(handle), dnn_tensor(data).bytes(), dnn_tensor(result).bytes(),
                "cudnn pooling");
  return kDnnSuccess;
}
