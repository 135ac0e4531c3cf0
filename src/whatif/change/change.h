// One change as a user asked for it: what is done, with all that doing it needs. Made where words are
// read (whatif/changes.h); nobody takes words apart after that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "flopcast/hardware.h"
#include "flopcast/network/collectives.h"
#include "flopcast/whatif.h"
#include "whatif/change/pattern.h"
#include "whatif/change/structure_change.h"

namespace flopcast::whatif {

/// Changes are applied by tier, in this order.
enum class Tier : std::uint8_t { kStructure, kOrder, kDurations };

// ---- structure: made together --------------------------------------------------------------------

struct SetSize {
  static constexpr Tier kTier = Tier::kStructure;
  SizeField size = nullptr;
  std::uint32_t value = 1;
  bool scale_only = false;  ///< of dp: collectives are replaced alone
};
struct SetSchedule {
  static constexpr Tier kTier = Tier::kStructure;
  ScheduleKind kind = ScheduleKind::kOneFOneB;
};
struct SetRecompute {
  static constexpr Tier kTier = Tier::kStructure;
  std::uint32_t layers = 0;  ///< of each stage; 0: none
};

// ---- order ---------------------------------------------------------------------------------------

/// Computation does not wait.
struct AddOverlap {
  static constexpr Tier kTier = Tier::kOrder;
  std::optional<CollectiveOp> operation;  ///< for what; for gradients
};
struct RemoveOverlap {
  static constexpr Tier kTier = Tier::kOrder;
};
/// Neighbours become one kernel.
struct Fuse {
  static constexpr Tier kTier = Tier::kOrder;
  Pattern names;  ///< of both
};

// ---- durations -----------------------------------------------------------------------------------

struct SetTokens {
  static constexpr Tier kTier = Tier::kDurations;
  double factor = 1;
};
struct RemoveHost {
  static constexpr Tier kTier = Tier::kDurations;
};
struct RemoveLaunches {
  static constexpr Tier kTier = Tier::kDurations;
};
struct RemoveProfiler {
  static constexpr Tier kTier = Tier::kDurations;
};
struct RemoveDataLoading {
  static constexpr Tier kTier = Tier::kDurations;
};
struct RemoveStraggler {
  static constexpr Tier kTier = Tier::kDurations;
  std::optional<std::int64_t> rank;  ///< nothing: the one that a step gains most of
};
struct KernelsFrom {
  static constexpr Tier kTier = Tier::kDurations;
  std::filesystem::path recording;
};
struct OnChip {
  static constexpr Tier kTier = Tier::kDurations;
  Chip chip;
};
struct OnCluster {
  static constexpr Tier kTier = Tier::kDurations;
  std::string cluster;  ///< "64 x dgx-h100"
};

/// A part by the name that breakdowns and sensitivities give it: "gemm", "all_reduce".
struct ScaledPart {
  std::string name;
};
/// Kernels whose names have a text in them, or match an expression.
struct ScaledKernels {
  std::string written;  ///< the text, or "/.../"
  std::optional<Pattern> expression;

  bool match(std::string_view name) const {
    return expression ? expression->found_in(name) : name.find(written) != name.npos;
  }
};
enum class NetworkTier : std::uint8_t { kNode, kFabric };
/// Collectives, or those of one tier.
struct ScaledNetwork {
  std::optional<NetworkTier> tier;
};
/// All the host does.
struct ScaledHost {};
/// Host and kernels of one rank.
struct ScaledRank {
  std::int64_t rank = 0;
};
using Scaled = std::variant<ScaledPart, ScaledKernels, ScaledNetwork, ScaledHost, ScaledRank>;

struct Scale {
  static constexpr Tier kTier = Tier::kDurations;
  Scaled what;
  double factor = 1;
};

// --------------------------------------------------------------------------------------------------

using Action =
    std::variant<SetSize, SetSchedule, SetRecompute, AddOverlap, RemoveOverlap, Fuse, SetTokens,
                 RemoveHost, RemoveLaunches, RemoveProfiler, RemoveDataLoading, RemoveStraggler,
                 KernelsFrom, OnChip, OnCluster, Scale>;

struct Change {
  Action action;
  std::string text;  ///< "set dp=64": how answers name it
};

inline Tier tier_of(const Change& change) {
  return std::visit([](const auto& action) { return action.kTier; }, change.action);
}

/// The change refused, for lack of evidence.
inline WhatIfRefusal refusal(const Change& change, std::string missing) {
  return {change.text, std::move(missing)};
}

}  // namespace flopcast::whatif
