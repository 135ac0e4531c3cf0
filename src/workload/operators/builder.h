// What operators are made of: linear layers cut over chips, norms, element-wise kernels, and what
// they keep for backward.
#pragma once

#include <string_view>

#include "flopcast/workload/operators.h"

namespace flopcast::workload {

/// How a linear layer's weights [in, out] lie on the tensor-parallel chips.
enum class Cut : std::uint8_t {
  kColumn,  ///< out / n each: input gathered (u -> t), gradients of it summed
  kRow,     ///< in / n each: outputs are partial sums
  kWhole,   ///< every chip has all, and computes on its own u tokens
};

struct Linear {
  std::string_view name;
  std::int64_t in = 0, out = 0;  ///< of the whole layer
  Cut cut = Cut::kColumn;
  bool bias = false;
  bool adapters = false;          ///< low-rank adapters sit here, where there are any
  bool saves_input = true;        ///< false: another operator keeps the same tensor
  bool communicates = true;       ///< false: another operator's transfer serves this one
  bool quantized = true;          ///< in the precision's type; false: in the activations'
  std::uint8_t input_module = 0;  ///< RecomputeModules that drop the input
};

/// Appends operators to a list. Sizes have the suffixes of flopcast/workload/operators.h.
class OperatorBuilder {
 public:
  OperatorBuilder(const Model& model, const Execution& execution);

  const Model& model;
  const Execution& run;
  std::int64_t h = 0;         ///< hidden
  std::int64_t t = 0, u = 0;  ///< tokens on the chip; where the sequence is sharded
  std::int64_t n = 1;         ///< tp
  DataType type;              ///< of activations
  double element = 2;         ///< its bytes
  bool shards_sequence = false;

  Operator& begin(std::string_view name);
  Operator& last() { return list_.operators.back(); }
  OperatorList take();

  void linear(const Linear& linear);
  /// A norm over `width` columns of u (or `rows`) tokens.
  /// @param input_module RecomputeModules that compute its input again.
  void norm(std::string_view name, NormKind kind, std::int64_t rows, std::int64_t width,
            std::uint8_t input_module = 0);
  /// The sum of a block's output and the stream around it; dropout before it where the model has it.
  void residual_add(std::string_view name, unsigned inputs);
  /// max, gelu or silu x gate over rows x width values after the gate.
  /// @param other_module RecomputeModules that drop the values which the gate multiplies.
  void activation(std::string_view name, bool gated, std::int64_t rows, std::int64_t width,
                  std::uint8_t other_module = 0);

  /// A kernel over rows x columns values that reads and writes so many bytes.
  MemoryBound memory_bound(MemoryOp op, std::int64_t rows, std::int64_t columns, double read,
                           double written, bool backward = false) const;
  /// Keeps bytes for backward, unless one of `modules` is recomputed: then they are live only.
  void save(Operator& op, double bytes, std::uint8_t modules = 0);
  /// Bytes of a value that a linear layer of the precision's type keeps.
  double input_bytes() const { return run.whole_inputs ? element : saved_bytes(run.precision); }
  bool recomputes(std::uint8_t modules) const {
    return run.recompute == Recompute::kSelective && (run.recompute_modules & modules) != 0;
  }
  /// Whether rows are sent to the other chips of their group after they are quantised.
  bool gathers_narrow(const Linear& linear) const;
  /// Nothing where the group has one member.
  void send(std::vector<OperatorStep>& steps, CollectiveOp op, Group group, double bytes,
            bool overlappable = true) const;
  /// Rows to their experts, or back: `bytes` of all copies, one for each of `copies` experts.
  void route(std::vector<OperatorStep>& steps, const Experts& experts, double bytes) const;
  void multiply(std::vector<OperatorStep>& steps, std::int64_t m, std::int64_t out, std::int64_t k,
                bool quantized = true) const;
  /// A low-precision copy of rows x columns values, where the precision needs one.
  void quantize(std::vector<OperatorStep>& steps, std::int64_t rows, std::int64_t columns,
                bool backward) const;
  /// What multiplications run in that no recipe quantises: attention scores, routers, the head.
  GemmType unquantized() const;
  /// Weights of an operator; frozen ones where there are adapters.
  void own(Operator& op, std::int64_t values) const;

 private:
  void linear_forward(Operator& op, const Linear& linear, std::int64_t rows) const;
  void linear_backward(Operator& op, const Linear& linear, std::int64_t rows) const;
  void linear_adapters(Operator& op, const Linear& linear, std::int64_t rows) const;
  void summa(const Linear& linear);

  OperatorList list_;
};

/// Sizes that do not divide are rounded up.
constexpr std::int64_t share(std::int64_t whole, std::int64_t parts) {
  return (whole + parts - 1) / parts;
}

void add_attention(OperatorBuilder& builder, const Layer& layer);
void add_indexer(OperatorBuilder& builder, const AttentionShape& attention);
void add_recurrence(OperatorBuilder& builder, const Layer& layer);
/// Between the norm of a layer and the sum of its blocks, beside attention.
void add_recurrence_beside(OperatorBuilder& builder, const Recurrence& recurrence);
void add_feed_forward(OperatorBuilder& builder, const Layer& layer);
void add_embedding(OperatorBuilder& builder);
void add_head(OperatorBuilder& builder);
/// Up to the layer of a module that predicts a further token.
void add_predictor_input(OperatorBuilder& builder);

}  // namespace flopcast::workload
