// Where things are in the blocks of a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/types.hpp>
#include <string_view>

#include "base/pack/columns.h"

namespace flopcast::live {

/// The digits are the version of the format. The older one, of whole runs alone, says less in its first block.
inline constexpr std::string_view kCaptureMagic = "FCCAP002";
inline constexpr std::string_view kOlderMagic = "FCCAP001";

/// Rows of a block: as many as a column holds at most, halved.
inline constexpr std::size_t kRowsOfBlock = std::size_t{1} << 16;
inline constexpr std::size_t kMostBlockBytes = std::size_t{1} << 28;

/// Columns of rows, by their place.
enum class Column : protozero::pbf_tag_type {
  kKind = 1,
  kProcess,
  kThread,
  kRank,
  kAct,
  kFlags,
  kDevice,
  kText,
  kGap,
  kDuration,
  kNumber,
  kStream,
  kWord0,
  kWord1,
  kWord2,
  kWord3,
};
inline constexpr protozero::pbf_tag_type kColumns = 16;

/// Some hold numbers that lie near the one before.
constexpr Coding coding_of(Column column) {
  return column == Column::kNumber || column == Column::kStream ? Coding::kDelta : Coding::kPlain;
}

inline constexpr protozero::pbf_tag_type kText =
    20;  ///< that rows of this block are the first to name

/// Facts of the run, in the first block.
enum class Fact : protozero::pbf_tag_type {
  kCluster = 30,
  kChip,
  kRanks,
  kChipsPerNode,
  kMemoryBytes,
  kHost,
  kHostFactor,
  kOperators,
  kNodesAsCluster,
  kFolding,  ///< text_of(Folding); a whole run has none
  kFamily,   ///< text_of_groups
};

/// How it ended, in the last block.
enum class Ending : protozero::pbf_tag_type {
  kStatus = 50,  ///< always there
  kFailureRank,
  kFailureStatus,
  kFailureLine,
  kStopped,
  kUnsupported,
  kTaintedReads,
  kTaintedWhere,
  kAssumed,
  kMemoryRank,   ///< followed by
  kMemoryBytes,  ///< the most that it had
  kRestarts,     ///< how often a launcher started the ranks again
  kValuesEnd,
  kOtherLengths,
};

}  // namespace flopcast::live
