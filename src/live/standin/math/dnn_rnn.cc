// cuDNN's recurrent networks: where weights lie, and a pass as the products that it is.
#include "live/standin/api/api.h"
#include "live/standin/math/dnn.h"
#include "live/standin/math/dnn_tensor.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

/// cudnnRNNMode_t, cudnnRNNBiasMode_t
enum CellMode : int { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };
enum BiasMode : int { kNoBias = 0, kInputBias = 1, kBothBiases = 2, kRecurrentBias = 3 };

struct Rnn {
  int cell = kTanh, biases = kBothBiases, directions = 1, type = kDnnFloat, math = 0;
  std::int64_t input = 0, hidden = 0, projected = 0, layers = 0;

  std::int64_t gates() const { return cell == kLstm ? 4 : cell == kGru ? 3 : 1; }
  /// What a step hands to the next, and a layer to the one above.
  std::int64_t output() const { return projected > 0 ? projected : hidden; }
  bool projects() const { return projected > 0 && projected != hidden; }
  std::int64_t pseudo_layers() const { return layers * directions; }
  std::int64_t input_of(std::int64_t pseudo_layer) const {
    return pseudo_layer < directions ? input : output() * directions;
  }
  /// Elements of the weights of a layer in one direction.
  std::int64_t weights_of(std::int64_t pseudo_layer) const {
    const std::int64_t projection = projects() ? projected * hidden : 0;
    return gates() * hidden * (input_of(pseudo_layer) + output()) + projection;
  }
  std::int64_t biases_of_layer() const {
    const std::int64_t kinds = biases == kBothBiases ? 2 : biases == kNoBias ? 0 : 1;
    return kinds * gates() * hidden;
  }
  std::int64_t all_weights() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < pseudo_layers(); ++i) sum += weights_of(i);
    return sum;
  }
  std::int64_t elements() const { return all_weights() + pseudo_layers() * biases_of_layer(); }
  const char* gemm_type() const { return dnn_gemm_type(type, math != 3); }
};
Rnn& rnn_of(void* descriptor) { return *static_cast<Rnn*>(descriptor); }

/// Of a batch of sequences.
struct RnnData {
  int type = kDnnFloat, layout = 0;
  std::int64_t steps = 0, batch = 0, width = 0;
  std::int64_t filled = 0;  ///< steps of all sequences together
};
RnnData& data_of(void* descriptor) { return *static_cast<RnnData*>(descriptor); }

/// A piece of the weights: its place in elements, rows and columns.
struct Piece {
  std::int64_t at = 0, rows = 0, columns = 0;
};

/// Weights of all layers come first: those on the input gate by gate, those on the step before, the projection. Biases follow
/// in the same order.
Piece matrix_of(const Rnn& rnn, std::int64_t layer, std::int64_t part) {
  Piece piece;
  for (std::int64_t i = 0; i < layer; ++i) piece.at += rnn.weights_of(i);
  const std::int64_t gates = rnn.gates(), in = rnn.input_of(layer);
  if (part < gates) {
    return {piece.at + part * rnn.hidden * in, rnn.hidden, in};
  }
  piece.at += gates * rnn.hidden * in;
  if (part < 2 * gates) {
    return {piece.at + (part - gates) * rnn.hidden * rnn.output(), rnn.hidden, rnn.output()};
  }
  if (!rnn.projects() || part > 2 * gates) return {};
  return {piece.at + gates * rnn.hidden * rnn.output(), rnn.projected, rnn.hidden};
}

Piece bias_of(const Rnn& rnn, std::int64_t layer, std::int64_t part) {
  const std::int64_t gates = rnn.gates();
  const bool of_input = part < gates;
  const bool is_there =
      part < 2 * gates && (rnn.biases == kBothBiases || (rnn.biases == kInputBias && of_input) ||
                           (rnn.biases == kRecurrentBias && !of_input));
  if (!is_there) return {};
  const std::int64_t number = rnn.biases == kRecurrentBias ? part - gates : part;
  return {rnn.all_weights() + layer * rnn.biases_of_layer() + number * rnn.hidden, rnn.hidden, 1};
}

void give_piece(const Rnn& rnn, const Piece& piece, const void* weights, void* descriptor,
                void** address) {
  if (piece.rows == 0) {
    if (address) *address = nullptr;
    set_tensor(descriptor, rnn.type, {});
    return;
  }
  const auto offset = static_cast<std::size_t>(piece.at) * bytes_of_dnn(rnn.type);
  if (address) *address = const_cast<char*>(static_cast<const char*>(weights)) + offset;
  set_tensor(descriptor, rnn.type, {1, piece.rows, piece.columns});
}

/// Every step's part of the input in one product a layer, then a product a step, which waits for the one before.
void submit_pass(void* stream, const Rnn& rnn, const RnnData& data, bool backward) {
  const std::int64_t rows = rnn.gates() * rnn.hidden;
  const char* const name = backward ? "cudnn rnn backward data" : "cudnn rnn forward";
  const double state = static_cast<double>(rows * data.batch * data.steps) *
                       static_cast<double>(bytes_of_dnn(rnn.type));
  for (std::int64_t layer = 0; layer < rnn.pseudo_layers(); ++layer) {
    const std::int64_t in = rnn.input_of(layer);
    submit_gemm(stream, rnn.gemm_type(), backward ? in : rows, data.filled, backward ? rows : in, 1,
                name);
    for (std::int64_t step = 0; step < data.steps; ++step) {
      submit_gemm(stream, rnn.gemm_type(), backward ? rnn.output() : rows, data.batch,
                  backward ? rows : rnn.output(), 1, name);
    }
    submit_memory(stream, 2 * state, state, name);
  }
}

void submit_weight_gradients(void* stream, const Rnn& rnn, const RnnData& data) {
  const std::int64_t rows = rnn.gates() * rnn.hidden;
  for (std::int64_t layer = 0; layer < rnn.pseudo_layers(); ++layer) {
    for (const std::int64_t columns : {rnn.input_of(layer), rnn.output()}) {
      submit_gemm(stream, rnn.gemm_type(), rows, columns, data.filled, 1,
                  "cudnn rnn backward weights");
    }
  }
}

/// Gates and cells of every step are kept for the backward pass.
std::size_t reserve_bytes(const Rnn& rnn, const RnnData& data) {
  const std::int64_t kept = (rnn.gates() + 2) * rnn.hidden * data.steps * data.batch;
  return static_cast<std::size_t>(kept * rnn.pseudo_layers()) * bytes_of_dnn(rnn.type);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudnnCreateRNNDescriptor(void** descriptor) { return make_dnn<Rnn>(descriptor); }
FLOPCAST_API int cudnnDestroyRNNDescriptor(void* descriptor) { return drop_dnn<Rnn>(descriptor); }
FLOPCAST_API int cudnnSetRNNDescriptor_v8(void* descriptor, int, int cell, int biases,
                                          int directions, int, int type, int, int math, int input,
                                          int hidden, int projected, int layers, void*, unsigned) {
  rnn_of(descriptor) = {cell,      biases, directions == 1 ? 2 : 1, type, math, input, hidden,
                        projected, layers};
  return kDnnSuccess;
}
FLOPCAST_API int cudnnCreateRNNDataDescriptor(void** descriptor) {
  return make_dnn<RnnData>(descriptor);
}
FLOPCAST_API int cudnnDestroyRNNDataDescriptor(void* descriptor) {
  return drop_dnn<RnnData>(descriptor);
}
FLOPCAST_API int cudnnSetRNNDataDescriptor(void* descriptor, int type, int layout, int steps,
                                           int batch, int width, const int* lengths, void*) {
  RnnData data{type, layout, steps, batch, width, 0};
  for (int i = 0; i < batch; ++i) data.filled += lengths ? lengths[i] : steps;
  data_of(descriptor) = data;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetRNNWeightSpaceSize(void*, void* descriptor, std::size_t* bytes) {
  const Rnn& rnn = rnn_of(descriptor);
  *bytes = static_cast<std::size_t>(rnn.elements()) * bytes_of_dnn(rnn.type);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetRNNWeightParams(void*, void* descriptor, int layer, std::size_t,
                                         const void* weights, int part, void* matrix,
                                         void** matrix_address, void* bias, void** bias_address) {
  const Rnn& rnn = rnn_of(descriptor);
  if (layer < 0 || layer >= rnn.pseudo_layers() || part < 0) return kDnnBadParameter;
  give_piece(rnn, matrix_of(rnn, layer, part), weights, matrix, matrix_address);
  give_piece(rnn, bias_of(rnn, layer, part), weights, bias, bias_address);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetRNNTempSpaceSizes(void*, void* descriptor, int training, void* data,
                                           std::size_t* workspace, std::size_t* reserve) {
  const std::size_t bytes = reserve_bytes(rnn_of(descriptor), data_of(data));
  if (workspace) *workspace = bytes;
  if (reserve) *reserve = training != 0 ? bytes : 0;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnRNNForward(void* handle, void* descriptor, int, const int*, void* data,
                                 const void*, void*, void*, void*, const void*, void*, void*,
                                 const void*, void*, std::size_t, const void*, std::size_t, void*,
                                 std::size_t, void*) {
  submit_pass(stream_of_dnn(handle), rnn_of(descriptor), data_of(data), false);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnRNNBackwardData_v8(void* handle, void* descriptor, const int*, void* result,
                                         const void*, const void*, void*, void*, void*, const void*,
                                         const void*, void*, void*, const void*, const void*, void*,
                                         std::size_t, const void*, std::size_t, void*, std::size_t,
                                         void*) {
  submit_pass(stream_of_dnn(handle), rnn_of(descriptor), data_of(result), true);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnRNNBackwardWeights_v8(void* handle, void* descriptor, int, const int*,
                                            void* data, const void*, void*, const void*, void*,
                                            const void*, std::size_t, void*, std::size_t, void*,
                                            std::size_t, void*) {
  submit_weight_gradients(stream_of_dnn(handle), rnn_of(descriptor), data_of(data));
  return kDnnSuccess;
}
