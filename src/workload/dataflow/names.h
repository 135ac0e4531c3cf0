// The words of dataflow graphs in files and in print, each in the order of its enumeration.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "flopcast/workload/dataflow.h"

namespace flopcast::workload::dataflow {

inline constexpr std::array<std::string_view, 8> kKinds{
    "gemm", "elementwise", "softmax", "norm", "embedding", "all_to_all", "panel", "fft"};
inline constexpr std::array<std::string_view, 5> kDimensions{"none", "outer", "m", "n", "k"};
inline constexpr std::array<std::string_view, 5> kOperands{"pointwise", "right", "left", "left_t",
                                                           "right_t"};
inline constexpr std::array<std::string_view, 3> kTransfers{"all_to_all", "broadcast",
                                                            "point_to_point"};
inline constexpr std::array<std::string_view, 4> kPasses{"forward", "training", "prefill",
                                                         "decode"};

/// The value whose word this is.
template <typename Enum, std::size_t N>
std::optional<Enum> find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) return std::nullopt;
  return static_cast<Enum>(at - words.begin());
}

}  // namespace flopcast::workload::dataflow
