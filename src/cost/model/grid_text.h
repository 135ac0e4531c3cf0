// Numbers as printable text, for fitted grids in TOML files.
//
// A grid: each number is low + step * q, q of 12 bits in two characters of A-Z a-z 0-9 + / (high
// bits first). Rounding keeps order, so a grid that does not fall still does not after packing.
// Curves: one character per number, q = character - '#' - 45 in -45 .. 45 ('\' is skipped) and the
// number is s sinh(q / c): steps of 0.8 % near zero, 25 % at a factor of eight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::cost {

struct PackedGrid {
  double low = 0, step = 0;
  std::string text;
};
PackedGrid pack_grid(std::span<const float> values);
/// Nothing where a character is foreign or the length is not 2 * count.
std::optional<std::vector<float>> unpack_grid(const PackedGrid& packed, std::size_t count);

std::string pack_curves(std::span<const float> values);
std::optional<std::vector<float>> unpack_curves(std::string_view text, std::size_t count);

/// What packing and unpacking makes of the numbers: fits hold these, so that a fit just made and
/// the same read from a file give the same times.
void round_as_packed(std::vector<float>& grid);
void round_curves_as_packed(std::vector<float>& curves);

}  // namespace flopcast::cost
