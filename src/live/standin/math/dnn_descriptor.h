// Descriptors of cuDNN's backend: attributes by number, as they were set.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace flopcast::live {

/// cudnnBackendDescriptorType_t
enum class DnnKind : int {
  kEngine = 2,
  kEngineConfiguration = 3,
  kEngineHeuristics = 4,
  kExecutionPlan = 5,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kTensor = 17,
  kMatmul = 19,
  kNormForward = 29,
  kNormBackward = 30,
  kAttentionForward = 41,
  kAttentionBackward = 43,
  kDiagonalBandMask = 44,
};

/// cudnnBackendAttributeName_t
enum DnnAttribute : int {
  kPointwiseMode = 0,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigurationEngine = 300,
  kConfigurationWorkspace = 303,
  kConfigurationShared = 304,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kForwardFilter = 703,
  kForwardData = 704,
  kForwardResult = 705,
  kBackwardDataFilter = 709,
  kBackwardDataData = 710,
  kBackwardDataResult = 711,
  kBackwardFilterFilter = 715,
  kBackwardFilterData = 716,
  kBackwardFilterResult = 717,
  kPointwiseDescriptor = 750,
  kGraphOperations = 801,
  kGraphEngines = 802,
  kTensorType = 901,
  kTensorSizes = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorVirtual = 907,
  kTensorByValue = 908,
  kTensorRaggedOffset = 913,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineNumericalNotes = 1303,
  kMatmulA = 1520,
  kMatmulB = 1521,
  kAttentionForwardQuery = 2800,
  kAttentionForwardKey = 2801,
  kAttentionForwardGraph = 2811,
  kAttentionBackwardQuery = 2851,
  kAttentionBackwardKey = 2852,
  kAttentionBackwardGraph = 2867,
};

struct DnnDescriptor;
using DnnShared = std::shared_ptr<DnnDescriptor>;

struct DnnValue {
  int type = 0;
  std::int64_t count = 0;
  std::vector<unsigned char> bytes;
  std::vector<DnnShared> descriptors;  ///< in place of bytes
};

struct DnnDescriptor {
  DnnKind kind = DnnKind::kTensor;
  std::map<int, DnnValue> values;

  /// The first of an attribute's numbers; `otherwise` where it was not set.
  std::int64_t number(int attribute, std::int64_t otherwise = 0) const;
  std::vector<std::int64_t> numbers(int attribute) const;
  /// The first of an attribute's descriptors; null where it was not set.
  const DnnDescriptor* part(int attribute) const;
};

/// Puts what a graph of operations computes on a stream. @param tensor_cores as for submit_convolution
void submit_graph(void* stream, const DnnDescriptor& graph, bool tensor_cores);

}  // namespace flopcast::live
