// A kernel in Triton's own intermediate code (TTIR), as its compiler leaves it beside the binary that programs load.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::live::triton {

inline constexpr std::size_t kMostDims = 6;

struct Type {
  enum class Kind : std::uint8_t { kInteger, kFloat, kPointer, kDescriptor, kOther };
  Kind kind = Kind::kOther;
  std::string
      element;  ///< "bf16", "i32"; of a pointer what it points to, of a descriptor what its tensor has
  std::vector<std::int64_t> shape;  ///< of a tensor, or of a descriptor's blocks; empty: a scalar

  bool is_tensor() const { return !shape.empty() && kind != Kind::kDescriptor; }
  std::int64_t elements() const;
};
/// Bits of an element: "bf16" is 16, "f8E4M3FN" 8, "f4E2M1FN" 4; 0 where the name says none.
unsigned bits_of(std::string_view element);
/// What a parameter of the type takes in a launch.
std::size_t parameter_bytes(const Type& type);

struct Operation;
struct Block {
  std::string label;           ///< "bb1"; empty: the first
  std::vector<int> arguments;  ///< values
  std::vector<Operation> operations;
};
struct Jump {
  std::string to;
  std::vector<int> values;
};
struct Operation {
  std::string name;           ///< "tt.load"
  std::vector<int> results;   ///< values
  std::vector<int> operands;  ///< values, in the order of the text
  std::vector<Type> inputs;   ///< types in front of the arrow, where there is one
  std::vector<Type>
      types;         ///< of the results; of loads, stores and comparisons, of what they work on
  std::string text;  ///< what stands behind the name: attributes and types
  std::vector<std::vector<Block>> regions;
  std::vector<Jump> jumps;               ///< of branches between blocks
  std::vector<std::vector<int>> groups;  ///< operands in brackets, bracket by bracket
};
struct Function {
  std::vector<int> parameters;  ///< values
  std::vector<Type> types;      ///< theirs
  std::vector<Block> body;
};
struct Program {
  std::map<std::string, Function, std::less<>> functions;
  std::string kernel;      ///< the one that is launched
  std::size_t values = 0;  ///< how many there are
};

/// None where the text is not of the form that Triton's compiler writes.
std::optional<Program> parse_program(std::string_view text);

/// A number behind "name =" in attributes.
std::optional<std::int64_t> attribute(std::string_view text, std::string_view name);

}  // namespace flopcast::live::triton
