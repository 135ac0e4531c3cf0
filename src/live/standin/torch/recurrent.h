// Recurrent layers of cuDNN and PyTorch's fused cells, on the CPU.
#pragma once

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

Values recurrent_layers(const Call& call, const Values& in, const Values& outputs);
Values recurrent_layers_backward(const Call& call, const Values& in, const Values& outputs);
Values lstm_cell(const Call& call, const Values& in, const Values& outputs);
Values lstm_cell_backward(const Call& call, const Values& in, const Values& outputs);
Values gru_cell(const Call& call, const Values& in, const Values& outputs);
Values gru_cell_backward(const Call& call, const Values& in, const Values& outputs);

}  // namespace flopcast::plugin
