// Sizes of an operator's tensors, put into words: "q[0] * q[-1]", "sum(steps(cu_seqlens_q))".
//   NAME               an argument that is a number, or what a small tensor of integers holds: a list
//   NAME[I]            a tensor's size along a dimension; from the last one on if negative
//   NAME.bytes  NAME.elements  NAME.element_bytes
//   + - * / %  ( )     element by element where one side is a list
//   sum max min count of a list; steps(LIST), what each element is more than the one before; ceil floor
// Beside the arguments there are result, result1, ..., what the operator returns, inputs.bytes, outputs.bytes, and of a
// kernel threads and what its pattern has in braces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "live/engine/pricing/operator_call.h"

namespace flopcast::live {

/// What an expression speaks of.
struct Facts {
  const OperatorCall* call = nullptr;  ///< null: of a kernel alone
  std::map<std::string, double, std::less<>> numbers = {};
};

/// One number, or a list of them.
struct Amount {
  std::vector<double> numbers;
  bool list = false;
};
/// Why there is none: an argument was not given, or what it holds is not known.
enum class Lack : std::uint8_t { kArgument, kValues };
struct Evaluated {
  std::optional<Amount> amount;
  Lack lack = Lack::kArgument;
  std::string name;  ///< of what is lacking
};

class Expression {
 public:
  /// Error: what is wrong, with its column, in words that follow the text.
  static Result<Expression> parse(std::string_view text);
  Evaluated evaluate(const Facts& facts) const;

  struct Node {
    enum class Kind : std::uint8_t { kNumber, kName, kSize, kProperty, kOperation, kFunction } kind;
    std::string text;  ///< name, operator or function
    std::string property;
    double number = 0;
    std::int64_t index = 0;
    std::vector<Node> of;
  };

 private:
  explicit Expression(Node root) : root_(std::move(root)) {}
  Node root_;
};

}  // namespace flopcast::live
