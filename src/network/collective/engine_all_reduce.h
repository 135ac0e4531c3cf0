// Floor 2, private: the all-reduce kernels that serving engines bring along instead of NCCL's.
#pragma once

#include <optional>
#include <string_view>

#include "network/collective/shape.h"

namespace flopcast::network {

/// One shot or two, as vLLM chooses (csrc/custom_all_reduce.cuh; SGLang's kernel descends from it, and
/// TensorRT-LLM's has the same two strategies): one between two ranks, up to four below 512 KB, up to
/// eight below 256 KB. Nothing where engines leave the work to NCCL: above 8 MB, above eight ranks,
/// across nodes, and over PCIe between more than two chips; TensorRT-LLM's needs NVLink
/// (thop/allreduceOp.cpp), and leaves all of PCIe to NCCL.
std::optional<Seconds> engine_all_reduce(std::string_view library, const GroupShape& shape,
                                         Bytes size);

}  // namespace flopcast::network
