// An operator as a signature tells it: its name, its tensors, and how much of its work one kernel does.
//   NAME INPUTS OUTPUTS SHARE KERNEL      "aten::add.Tensor bf16:8x4096*2 bf16:8x4096 1000 _ZN2at6native..."
// Tensors are words of src/live/standin/operators/text.h; outputs are "?" where they were not known yet. Those of extensions have
// their names, and arguments that are numbers are among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/hardware.h"

namespace flopcast::live {

/// One tensor.
struct OperatorTensor {
  double element_bytes = 1;
  std::optional<DataType> type;     ///< none: integers of other widths, booleans, complex numbers
  std::vector<std::int64_t> sizes;  ///< empty: one element
  double elements = 1;              ///< product of the sizes
  std::string_view name;            ///< of an extension's argument
  std::optional<std::vector<double>> values;  ///< of a small one of integers, where they are known
  double touched = 1;  ///< elements that lie in memory: less where it was expanded
  double shared = 0;   ///< of those: another input's as well, which counts them
  /// What reading or writing all of it moves.
  double bytes() const { return touched * element_bytes; }
  double shared_bytes() const { return shared * element_bytes; }
  std::int64_t last() const { return sizes.empty() ? 1 : sizes.back(); }  ///< the innermost size
};

/// A call of an operator.
struct OperatorCall {
  std::string_view whole;     ///< "aten::add", without overload
  std::string_view name;      ///< "add", without namespace and overload
  std::string_view overload;  ///< "Tensor", "out"
  std::vector<OperatorTensor> inputs, outputs;
  std::vector<std::pair<std::string_view, double>> numbers;  ///< arguments of an extension
  std::vector<std::size_t> changed;                          ///< inputs that are outputs as well
  bool ended = true;                                         ///< outputs are known
  double share = 1;                                          ///< of its work, by threads
  std::string_view kernel;                                   ///< as the program registered it

  bool extension() const { return !whole.starts_with("aten::"); }
  double read_bytes() const;     ///< of all inputs
  double changed_bytes() const;  ///< of those that are outputs as well
  double written_bytes() const;  ///< of all outputs, those that are inputs included
};

/// Without the kind in front. None if the text is no such call.
std::optional<OperatorCall> parse_operator_call(std::string_view text);

}  // namespace flopcast::live
