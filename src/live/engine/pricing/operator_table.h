// What operators and kernels do, as data: catalog/live/operators.toml, and a file of the user's of the same form.
//   [[operator]]                     the first whose name fits; the user's before the built-in ones
//   name = ["ns::attend", "ns::*"]   as PyTorch's dispatcher has it, without overload; "*" is anything
//   kernels = ["*dequantize*"]       only these of its kernels, as the program registered them; all if left out
//   source = "..."                   where that is from
//   counts = "rows"                  how its bytes are counted (kCountings); each tensor once if left out
//   as = "layer_norm"                what moves bytes like it (MemoryOp)
//   backward = true
//   read = EXPRESSION                bytes, where they are not those of its tensors; also written
//   [[operator.product]]             m, n, k, count, type
//   [operator.attention]             sequences, queries, keys, heads, kv_heads, dim, value_dim, causal, window, type, cache, backward
//   [[kernel]]                       the same of a kernel that no operator launched: a name as the program registered it, with
//                                    {n} for whole numbers in it
//   arguments = { rows = "i32 0 8" } names for what a launch is given: type (i32, i64, or pointer: the bytes behind it), index of
//                                    the argument, and bytes into it where it is a structure
// Amounts are expressions (expression.h), numbers, or lists of them: the first whose arguments are there counts. Where one is
// passed over because its tensor's values are not known, what follows is assumed. `type` names an argument or a type.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost.h"
#include "live/engine/pricing/expression.h"

namespace flopcast::live {

/// How an operator's bytes are counted.
enum class Counting : std::uint8_t {
  kMoves,       ///< reads its inputs, writes its outputs
  kPointwise,   ///< the same, element by element
  kWrites,      ///< reads nothing
  kCopies,      ///< reads all but what it overwrites
  kRows,        ///< the same as kMoves, row by row: a block of threads a row
  kStatistics,  ///< reads its inputs twice
  kGathers,     ///< reads as much of its first input as it writes, and its other inputs
  kScatters,    ///< reads all but its first input, and reads and writes as much of that
  kPicks,       ///< an element a row
  kSpreads,  ///< the gradient of that: an element a row is written, the others were cleared before
  kSums,     ///< rows that add up to few of what it writes, which was cleared before
  kSplits,   ///< its first tensor, into the others
  kUnpools,  ///< gradients of windows, and where in them the largest was: what it was of is not read
  kUpdates,  ///< an optimiser: parameters, gradients and moments, all but gradients written
  kSorts,    ///< a pass for every byte of a key
  kSelects,  ///< the same without writing
  kAttends,
  kConvolves,
  kGroups,  ///< a product, or one for every expert
};

/// Expressions, the first of which counts whose arguments are there.
using Alternatives = std::vector<Expression>;

struct ProductRule {
  Alternatives m, n, k, count;
  std::string type;
};
struct AttentionRule {
  Alternatives sequences, queries, keys, heads, kv_heads, dim, value_dim, causal, window;
  std::string type, cache;
  bool backward = false;
};

struct ArgumentRule {
  std::string name, type;
  std::int64_t index = 0, offset = 0;
};

struct OperatorRule {
  std::vector<std::string> names;
  std::vector<std::string> kernels;  ///< of the operator's, to which it applies; empty: to all
  std::string place;                 ///< "catalog/live/operators.toml:12:1"
  std::optional<Counting> counting;
  MemoryOp op = MemoryOp::kElementWise;
  bool backward = false;
  Alternatives read, written;
  std::vector<ProductRule> products;
  std::optional<AttentionRule> attention;
  std::vector<ArgumentRule> arguments;

  bool multiplies() const { return !products.empty() || attention; }
};

class OperatorTable {
 public:
  /// The catalogue's.
  static const OperatorTable& builtin();
  /// @param own a file whose rules go first; empty: none. Errors: it cannot be read or is not of that form.
  static Result<OperatorTable> make(const std::filesystem::path& own);
  static Result<OperatorTable> parse(std::string_view text, const std::string& where);

  struct Found {
    const OperatorRule* rule = nullptr;
    const std::string* name = nullptr;                        ///< the pattern that fitted
    std::map<std::string, double, std::less<>> numbers = {};  ///< what it has in braces
  };
  /// @param name "ns::attend", without overload @param kernel of those that it launched
  std::optional<Found> of_operator(std::string_view name, std::string_view kernel) const;
  std::optional<Found> of_kernel(std::string_view name) const;

  /// Which arguments of which kernels processes have to tell (wire/named_arguments.h).
  std::string wanted_arguments() const;

  /// Patterns of the user's file, with their places; a Found's `name` is one of them.
  struct Own {
    const std::string* name;
    std::string place;
  };
  std::vector<Own> own() const;

 private:
  std::vector<OperatorRule> operators_, kernels_;
  std::size_t own_operators_ = 0, own_kernels_ = 0;
};

}  // namespace flopcast::live
