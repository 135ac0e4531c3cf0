// Numbers as programs of Triton have them. An integer or an address is held in 64 bits, sign-extended (one bit: 0 or 1). A
// floating-point number of whatever type is held as the double that equals it.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "live/standin/triton/program.h"
#include "live/standin/triton/value.h"

namespace flopcast::live::triton {

/// How numbers of a type lie in memory.
struct Format {
  /// What the largest exponent is for.
  enum class Specials : std::uint8_t {
    kInfinity,      ///< infinity and NaN, as IEEE 754 has them
    kOneNan,        ///< numbers, but all ones is NaN
    kNegativeZero,  ///< numbers; what were negative zero is NaN
  };
  std::string_view name;
  unsigned bits = 64;
  bool floats = false;
  int mantissa = 0, bias = 0;
  Specials specials = Specials::kInfinity;

  std::size_t bytes() const { return (bits + 7) / 8; }
};
/// Null: of no number that is known.
const Format* format_of(const Type& type);
/// Of its elements, without a shape.
Type element_type(const std::string& element);

/// The nearest number of the format. What is too large is infinite, of 8 bits the largest, as GPUs convert.
double rounded(double value, const Format& format);
std::int64_t wrapped(std::int64_t value, unsigned bits);
/// Without a sign.
inline std::uint64_t natural(std::int64_t value, unsigned bits) {
  const auto all = static_cast<std::uint64_t>(value);
  return bits >= 64 ? all : all & ((std::uint64_t{1} << bits) - 1);
}
inline std::int64_t word_of(double value) { return std::bit_cast<std::int64_t>(value); }
inline double double_of(std::int64_t word) { return std::bit_cast<double>(word); }

/// A word of the format as bits in memory, and back.
std::uint64_t bits_of_word(std::int64_t word, const Format& format);
std::int64_t word_of_bits(std::uint64_t bits, const Format& format);

/// A tensor, or a scalar, which has no shape; or what describes a tensor in memory.
struct Array {
  Type type;
  std::vector<std::int64_t> words;  ///< the last dimension's neighbours side by side
  std::shared_ptr<const Descriptor> described;
  bool unknown = false;  ///< some of it hangs on what nobody computed, and the words are no numbers
  std::int64_t from =
      0;  ///< of addresses: the kernel's argument that they were made of; 0: several, or none

  Array() = default;
  Array(Type of, std::vector<std::int64_t> of_words)
      : type(std::move(of)), words(std::move(of_words)) {}
  static Array filled(const Type& type, std::int64_t word) {
    return {type, std::vector<std::int64_t>(static_cast<std::size_t>(type.elements()), word)};
  }
};

}  // namespace flopcast::live::triton
