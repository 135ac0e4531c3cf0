// What a graph of cuDNN's operations is as a kernel. cuDNN fuses a graph: it is one kernel, as expensive as its products,
// or else as what it reads and writes.
#include <cstdio>
#include <map>

#include "live/standin/math/dnn.h"
#include "live/standin/math/dnn_descriptor.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

/// CUDNN_POINTWISE_GEN_INDEX: masks compare the places of rows and columns.
constexpr std::int64_t kGenerateIndex = 501;
/// Products of attention: two forwards, five backwards.
constexpr std::size_t kAttentionProducts = 2, kBackwardProducts = 4;

DnnTensor tensor_of(const DnnDescriptor* descriptor) {
  if (!descriptor) return {};
  return {static_cast<int>(descriptor->number(kTensorType)), descriptor->numbers(kTensorSizes),
          descriptor->numbers(kTensorStrides)};
}

std::vector<const DnnDescriptor*> operations_of(const DnnDescriptor& graph) {
  std::vector<const DnnDescriptor*> all;
  const auto found = graph.values.find(kGraphOperations);
  if (found == graph.values.end()) return all;
  for (const DnnShared& operation : found->second.descriptors) all.push_back(operation.get());
  return all;
}

bool masks_diagonal(const DnnDescriptor* graph) {
  if (!graph) return false;
  for (const DnnDescriptor* const operation : operations_of(*graph)) {
    const DnnDescriptor* const pointwise = operation->part(kPointwiseDescriptor);
    if (operation->kind == DnnKind::kDiagonalBandMask ||
        (pointwise && pointwise->number(kPointwiseMode) == kGenerateIndex))
      return true;
  }
  return false;
}

/// Sequences lie behind each other, and the sizes are those of the longest.
bool is_packed(const DnnDescriptor* tensor) { return tensor && tensor->part(kTensorRaggedOffset); }

/// @param asking the queries' descriptor @param keys with the head dimension last
void submit_attention(void* stream, const DnnDescriptor* asking, const DnnTensor& keys,
                      std::int64_t key_length, bool causal, bool backward) {
  const DnnTensor queries = tensor_of(asking);
  if (queries.sizes.size() != 4 || keys.sizes.size() != 4) return;
  char text[160];
  std::snprintf(text, sizeof text, "%s %s %lld %lld %lld %lld %lld %lld %d %d %s",
                is_packed(asking) ? "packed" : "attention", dnn_gemm_type(queries.type, true),
                static_cast<long long>(queries.sizes[0]), static_cast<long long>(queries.sizes[2]),
                static_cast<long long>(key_length), static_cast<long long>(queries.sizes[1]),
                static_cast<long long>(keys.sizes[1]), static_cast<long long>(queries.sizes[3]),
                causal ? 1 : 0, backward ? 1 : 0,
                backward ? "cudnn attention backward" : "cudnn attention forward");
  submit(stream, text);
}

void submit_product(void* stream, const DnnDescriptor& operation, bool tensor_cores) {
  const DnnTensor a = tensor_of(operation.part(kMatmulA)), b = tensor_of(operation.part(kMatmulB));
  if (a.sizes.size() < 2 || b.sizes.size() < 2) return;
  const std::int64_t rows = a.sizes[a.sizes.size() - 2], inner = a.sizes.back();
  const std::int64_t batch = rows * inner == 0 ? 0 : a.elements() / (rows * inner);
  submit_gemm(stream, dnn_gemm_type(a.type, tensor_cores), rows, b.sizes.back(), inner, batch,
              "cudnn matmul");
}

/// Each tensor of the program's counts once; those between operations stay on the chip.
void submit_moves(void* stream, const std::vector<const DnnDescriptor*>& operations,
                  const char* name) {
  std::map<std::int64_t, double> tensors;
  for (const DnnDescriptor* const operation : operations) {
    for (const auto& [attribute, value] : operation->values) {
      for (const DnnShared& part : value.descriptors) {
        const bool counts = part->kind == DnnKind::kTensor && part->number(kTensorVirtual) == 0 &&
                            part->number(kTensorByValue) == 0;
        if (counts) tensors[part->number(kTensorId)] = tensor_of(part.get()).bytes();
      }
    }
  }
  double most = 0, all = 0;
  for (const auto& [id, bytes] : tensors) {
    all += bytes;
    most = most < bytes ? bytes : most;
  }
  submit_memory(stream, all - most, most, name);  // the largest is what is written
}

void submit_convolution_of(void* stream, const DnnDescriptor& operation, Convolution kind,
                           const int (&parts)[3], bool tensor_cores) {
  submit_convolution(stream, kind, tensor_of(operation.part(parts[0])),
                     tensor_of(operation.part(parts[1])), tensor_of(operation.part(parts[2])),
                     tensor_cores);
}

/// @return false if the operation is none that decides by itself what the graph takes
bool submit_operation(void* stream, const DnnDescriptor& operation, bool tensor_cores) {
  switch (operation.kind) {
    case DnnKind::kConvolutionForward:
      submit_convolution_of(stream, operation, Convolution::kForward,
                            {kForwardData, kForwardFilter, kForwardResult}, tensor_cores);
      return true;
    case DnnKind::kConvolutionBackwardData:
      submit_convolution_of(stream, operation, Convolution::kBackwardData,
                            {kBackwardDataData, kBackwardDataFilter, kBackwardDataResult},
                            tensor_cores);
      return true;
    case DnnKind::kConvolutionBackwardFilter:
      submit_convolution_of(stream, operation, Convolution::kBackwardFilter,
                            {kBackwardFilterData, kBackwardFilterFilter, kBackwardFilterResult},
                            tensor_cores);
      return true;
    case DnnKind::kAttentionForward: {
      const DnnTensor keys = tensor_of(operation.part(kAttentionForwardKey));
      submit_attention(stream, operation.part(kAttentionForwardQuery), keys,
                       keys.sizes.size() == 4 ? keys.sizes[2] : 0,
                       masks_diagonal(operation.part(kAttentionForwardGraph)), false);
      return true;
    }
    case DnnKind::kAttentionBackward: {
      const DnnTensor keys = tensor_of(operation.part(kAttentionBackwardKey));
      submit_attention(stream, operation.part(kAttentionBackwardQuery), keys,
                       keys.sizes.size() == 4 ? keys.sizes[2] : 0,
                       masks_diagonal(operation.part(kAttentionBackwardGraph)), true);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

void submit_graph(void* stream, const DnnDescriptor& graph, bool tensor_cores) {
  const std::vector<const DnnDescriptor*> operations = operations_of(graph);
  std::vector<const DnnDescriptor*> products;
  for (const DnnDescriptor* const operation : operations) {
    if (submit_operation(stream, *operation, tensor_cores)) return;
    if (operation->kind == DnnKind::kMatmul) products.push_back(operation);
  }
  if (products.size() >= kAttentionProducts) {
    // The first product is of queries and transposed keys.
    const DnnTensor keys = tensor_of(products.front()->part(kMatmulB));
    submit_attention(stream, products.front()->part(kMatmulA), keys,
                     keys.sizes.empty() ? 0 : keys.sizes.back(), masks_diagonal(&graph),
                     products.size() >= kBackwardProducts);
  } else if (!products.empty()) {
    submit_product(stream, *products.front(), tensor_cores);
  } else {
    submit_moves(stream, operations, "cudnn fused operations");
  }
}

}  // namespace flopcast::live
