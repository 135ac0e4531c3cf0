// What the user's constraints leave of every choice of a plan.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flopcast/analytic/search.h"

namespace flopcast::analytic::search {

/// Numbers that all constraints of one name allow.
struct NumberRule {
  std::int64_t low = 0, high = INT64_MAX;
  std::optional<std::vector<std::int64_t>> listed;  ///< ascending
  bool allows(std::int64_t value) const;
  /// What it allows of these, in their order.
  std::vector<std::int64_t> of(const std::vector<std::int64_t>& values) const;
  void add(const PlanConstraint& constraint);
};

/// Names that constraints know, in the order of messages.
inline constexpr std::array<std::string_view, 15> kConstraintNames = {"tp",
                                                                      "cp",
                                                                      "pp",
                                                                      "dp",
                                                                      "ep",
                                                                      "etp",
                                                                      "vpp",
                                                                      "zero",
                                                                      "shard",
                                                                      "micro_batch",
                                                                      "schedule",
                                                                      "recompute",
                                                                      "sequence_parallel",
                                                                      "precision",
                                                                      "context"};

/// Choices are in the order in which plans are numbered; never empty.
struct PlanRules {
  NumberRule tp, cp, pp, dp, ep, etp, vpp, micro_batch;
  bool etp_named = false;  ///< the user said something about etp
  std::vector<unsigned> shards;
  std::vector<Zero> zeros;
  std::vector<ScheduleKind> schedules;  ///< of plans with a pipeline
  std::vector<Recompute> recomputes;
  std::vector<bool> sequence_parallel;
  std::vector<Precision> precisions;
  std::vector<ContextKind> contexts;
};

/// Errors (kUsage): constraints that leave nothing of what they name.
Result<PlanRules> plan_rules(const PlanSearchOptions& options);

}  // namespace flopcast::analytic::search
