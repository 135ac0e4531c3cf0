// What this library writes into a CUtensorMap, which is opaque to programs: the tensor that it describes.
#pragma once

#include <cstdint>

namespace flopcast::live {

struct TensorMap {
  static constexpr std::uint64_t kMark = 0x70616d726f736e74;
  static constexpr unsigned kMostDims = 5;

  std::uint64_t mark = 0;
  std::uint64_t address = 0;
  std::uint64_t rank = 0;
  std::uint64_t sizes[kMostDims] = {};        ///< elements, the innermost first
  std::uint64_t strides[kMostDims - 1] = {};  ///< bytes, of all but the innermost
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace flopcast::live
