// Ranks and their places: which of the parallel dimensions tell them apart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/whatif/model.h"

namespace flopcast::whatif::structure {

/// Dimensions in which ranks differ.
enum class Dimension : std::uint8_t { kTensor, kContext, kData, kPipeline };
inline constexpr int kDimensions = 4;

/// A set of dimensions, one bit each. A group of ranks is those that differ in these alone.
using DimensionSet = std::uint8_t;
constexpr DimensionSet bit(Dimension d) {
  return static_cast<DimensionSet>(1u << static_cast<unsigned>(d));
}

/// The place of a rank: one number a dimension.
using Place = std::array<std::uint32_t, kDimensions>;

/// How ranks are numbered: the fastest dimension first.
class RankGrid {
 public:
  /// Of the recording. An error tells what the groups leave open.
  static Result<RankGrid> of(const TraceModel& model, const replaying::Recording& recording);

  std::uint32_t size() const;  ///< ranks in all
  std::uint32_t degree(Dimension d) const { return degrees_[static_cast<std::size_t>(d)]; }
  /// The same order of dimensions with another degree.
  RankGrid with(Dimension d, std::uint32_t degree) const;

  Place place(std::uint32_t rank) const;
  std::uint32_t rank(const Place& place) const;
  /// Ranks of the group of `member` that differ in `dimensions`, ascending.
  std::vector<std::uint32_t> group(std::uint32_t member, DimensionSet dimensions) const;
  /// In which dimensions these ranks differ.
  DimensionSet differences(const std::vector<std::uint32_t>& ranks) const;

 private:
  std::array<std::uint32_t, kDimensions> degrees_{1, 1, 1, 1};
  std::array<Dimension, kDimensions> order_{Dimension::kTensor, Dimension::kContext,
                                            Dimension::kData, Dimension::kPipeline};
};

}  // namespace flopcast::whatif::structure
