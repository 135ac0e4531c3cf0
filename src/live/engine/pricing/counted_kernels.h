// A kernel of which is told what it does: products, bytes, operations. The stand-ins count launches of programs:
//   READ WRITTEN OPERATIONS BEHIND STATE PRODUCTS ROWS NAME
// bytes; operations of floating-point numbers outside of products; bytes of the allocations that its pointers lead to;
// "known", "assumed" or what was not understood; "-" or TYPE:M:N:K:MOST:BLOCKS:KIND with commas: so many blocks of m by n,
// each over k, at most so much of it, which are plain products, or attention's; "-" or OP:ROWS:COLUMNS, where rows are
// normalised.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "flopcast/cost.h"

namespace flopcast::live {

struct CountedKernel {
  double read = 0, written = 0, operations = 0, behind = 0;
  std::string_view state;  ///< as above
  /// So much of another kernel's work: a product's, or attention's.
  struct Part {
    Kernel kernel;
    double share = 1;
  };
  std::vector<Part> products;       ///< all of a kernel that has attention's are parts of attention
  std::optional<MemoryBound> rows;  ///< what moves the bytes, where it goes by rows
  std::string_view name;

  bool complete() const { return state == "known" || state == "assumed"; }
};
/// None where the text is not of that form.
std::optional<CountedKernel> parse_counted(std::string_view text);

}  // namespace flopcast::live
