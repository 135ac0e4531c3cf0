// Operations of Triton's programs that make each element of their result of the operands' elements in its place.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "live/standin/triton/number.h"
#include "live/standin/triton/program.h"

namespace flopcast::live::triton {

/// A program does something that is not understood, or that has no answer here.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Elements that differ in number, or a type of no known format, are refused.
/// @param in operands; one of a single element stands for as many as the others have
/// @return one for each result; none: it is no such operation
std::vector<Array> elementwise(const Operation& op, const std::vector<const Array*>& in);

/// An integer operation of two, by its name without "arith.": what atomics do, too. @return whether there is one
bool combine_integers(std::string_view name, std::int64_t a, std::int64_t b, unsigned bits,
                      std::int64_t& out);

}  // namespace flopcast::live::triton
