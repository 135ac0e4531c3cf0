// Floor 2, private: the all-reduce kernels that serving engines bring along instead of NCCL's.
#pragma once

#include <optional>
#include <string_view>

#include "network/collective/shape.h"

namespace flopcast::network {

/// Whose kernel is asked for.
struct EngineKernel {
  std::string_view library;  ///< "vLLM_custom_graph", "SGLang_CustomAllReduce_eager", "TRTLLM"
  std::string_view version;  ///< of the engine
};

/// One shot or two, as vLLM chooses (csrc/custom_all_reduce.cuh; SGLang's kernel descends from it, and
/// TensorRT-LLM's has the same two strategies): one between two ranks, up to four below 512 KB, up to
/// eight below 256 KB. Nothing where engines leave the work to NCCL: across nodes, over PCIe between more
/// than two chips (any, by TensorRT-LLM, thop/allreduceOp.cpp), for numbers of ranks that they have no
/// kernel for, and for larger messages:
/// - vLLM: 8 MB and above (device_communicators/custom_all_reduce.py);
/// - SGLang: above 8 MB; from 0.5.12 above 16 MB, where NVLink joins all;
/// - TensorRT-LLM: above 8,000,000 B, between two ranks twice that (common/customAllReduceUtils.h).
std::optional<Seconds> engine_all_reduce(const EngineKernel& kernel, const GroupShape& shape,
                                         Bytes size);

}  // namespace flopcast::network
