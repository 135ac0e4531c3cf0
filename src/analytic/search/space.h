// Every plan of a search, numbered. The space is cut into parts (tp, cp, ep, micro batch), whose
// plans follow each other by how operators are cut and run (Execution), so that layers are priced
// once; within an Execution by stages, schedule and sharding.
//
//   number = part * 2^32 + the place of the choices among all of the part, possible or not
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytic/search/refusals.h"
#include "analytic/search/rules.h"
#include "flopcast/parallel.h"

namespace flopcast::analytic::search {

/// How stages run: with a pipeline, one of the schedules; without, 1F1B with one chunk.
struct StageChoice {
  ScheduleKind schedule = ScheduleKind::kOneFOneB;
  unsigned vpp = 1;
};

class Space {
 public:
  /// @param model, options must outlive the space.
  /// @param launch what the rules of a launcher are told
  Space(const Model& model, const PlanSearchOptions& options, PlanRules rules, unsigned chips,
        LaunchContext launch = {});

  std::size_t parts() const { return parts_.size(); }
  /// Of all axes, possible together or not.
  std::uint64_t choices() const {
    return parts_.size() * executions_.size() * places_of_execution();
  }
  /// visit(plan, number) for every possible plan of the part, in the order of numbers.
  template <typename Visit>
  void visit(std::size_t part, const Visit& visit) const;
  Plan plan(std::uint64_t number) const;
  static std::size_t part_of(std::uint64_t number) { return number >> kPlaceBits; }

  /// Of a part without a possible plan: what refuses each of its degrees and schedules.
  void refusals(std::size_t part, Refusals& counts) const;
  /// What leaves no parts at all.
  std::optional<std::string> no_parts() const;

 private:
  static constexpr unsigned kPlaceBits = 32;
  struct Part {
    unsigned tp = 1, cp = 1, ep = 1;
    std::int64_t micro_batch = 1;
  };
  struct ExecutionChoice {
    unsigned etp = 0;
    ContextKind context{};
    bool sequence_parallel = false;
    Recompute recompute{};
    Precision precision{};
  };

  void make_parts();
  void make_executions();
  void make_stages();
  Plan plan_of(const Part& part) const;
  void set(Plan& plan, const ExecutionChoice& choice) const;
  /// Whether choices without meaning have the value that stands for all.
  bool counts(const Part& part, const ExecutionChoice& choice) const;
  bool counts(const Plan& plan, const StageChoice& choice) const;
  bool counts(const Plan& plan, Zero zero) const;
  /// Whether operators can be cut so, whatever the stages and replicas.
  bool executable(const Plan& plan) const;
  /// Whether the launcher that is asked for, if any, can run it.
  bool runs(const Plan& plan) const;
  /// The plan as the launcher runs it, if one is asked for.
  Plan settled(const Plan& plan) const;
  /// Sets pp and what is left for dp; false where chips or batch do not divide.
  bool set_stages(Plan& plan, unsigned pp) const;
  bool equal_stages(const Plan& plan) const;
  bool asked(ScheduleKind schedule) const;
  std::string refusal(const Plan& plan) const;
  /// What the launcher cannot run of it.
  std::string launch_refusal(const Plan& plan) const;

  template <typename Visit>
  void visit_possible(const Plan& plan, std::uint64_t number, const Visit& visit) const {
    if (!plan_possible(plan, model_, chips_)) return;
    if (!options_.launchable) return visit(plan, number);
    Plan run = plan;
    const bool runs = launched_as(run, *options_.launchable, launch_, options_.named);
    if (runs && plan_possible(run, model_, chips_)) visit(std::as_const(run), number);
  }
  template <typename Visit>
  void visit_stages(Plan& plan, std::uint64_t number, const Visit& visit) const;
  std::uint64_t places_of_execution() const {
    return pps_.size() * rules_.shards.size() * stages_.size() * rules_.zeros.size();
  }

  const Model& model_;
  const PlanSearchOptions& options_;
  PlanRules rules_;
  unsigned chips_;
  LaunchContext launch_;
  std::int64_t experts_ = 0;
  std::vector<std::int64_t> tps_, cps_, eps_, micro_batches_, pps_;
  std::vector<StageChoice> stages_;
  std::vector<ExecutionChoice> executions_;
  std::vector<Part> parts_;
};

template <typename Visit>
void Space::visit(std::size_t part, const Visit& visit) const {
  Plan plan = plan_of(parts_[part]);
  for (std::size_t i = 0; i < executions_.size(); ++i) {
    set(plan, executions_[i]);
    if (!counts(parts_[part], executions_[i]) || !executable(plan)) continue;
    visit_stages(plan, (std::uint64_t{part} << kPlaceBits) + i * places_of_execution(), visit);
  }
}

template <typename Visit>
void Space::visit_stages(Plan& plan, std::uint64_t number, const Visit& visit) const {
  for (const std::int64_t pp : pps_) {
    const bool divides = set_stages(plan, static_cast<unsigned>(pp));
    for (const unsigned shard : rules_.shards) {
      plan.shard = shard;
      for (const StageChoice& stage : stages_) {
        plan.schedule = stage.schedule;
        plan.vpp = stage.vpp;
        const bool staged = divides && counts(plan, stage);
        for (const Zero zero : rules_.zeros) {
          plan.zero = zero;
          if (staged && counts(plan, zero)) visit_possible(plan, number, visit);
          ++number;
        }
      }
    }
  }
}

}  // namespace flopcast::analytic::search
