// Shapes of operators, for the files of this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace flopcast::cost {

/// Larger extents are no sizes of matrices; with kMostRows of them a product still fits into 64 bits.
inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 22;
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 40;

/// "aten::mm" as "mm".
std::string_view plain_operation(std::string_view operation);

}  // namespace flopcast::cost
