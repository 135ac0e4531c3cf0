// Attention of a GPU's fused kernels, in fp32 on the CPU. Of each operator the outputs that are values; others, such as the
// states of random numbers without dropout, stay what PyTorch's own kernel returned.
#pragma once

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

Values flash_attention(const Call& call, const Values& in, const Values& outputs);
Values flash_attention_backward(const Call& call, const Values& in, const Values& outputs);
Values efficient_attention(const Call& call, const Values& in, const Values& outputs);
Values efficient_attention_backward(const Call& call, const Values& in, const Values& outputs);
Values cudnn_attention(const Call& call, const Values& in, const Values& outputs);
Values cudnn_attention_backward(const Call& call, const Values& in, const Values& outputs);

}  // namespace flopcast::plugin
