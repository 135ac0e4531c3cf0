#include "analytic/plan_costs.h"

#include <algorithm>

namespace flopcast::training {
namespace {

class HashMix {
 public:
  void add(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 31;
  }
  std::size_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x243F6A8885A308D3ULL;
};

/// Groups that operators communicate in; the others do not change their times.
constexpr std::array kOperatorGroups = {Group::kTensor, Group::kTensor2, Group::kContext,
                                        Group::kExpert, Group::kExpertTensor};

bool same_for_operators(const Layouts& a, const Layouts& b) {
  return std::ranges::all_of(kOperatorGroups, [&](Group group) { return a[group] == b[group]; });
}

}  // namespace

PlanCosts::PlanCosts(const TrainingModel::State& state_)
    : state(state_),
      times(state_.system->network, state_.system->tiers, state_.options.collectives) {}

std::size_t PlanCosts::ExecutionHash::operator()(const Execution& r) const {
  HashMix mix;
  mix.add(static_cast<std::uint64_t>(r.microbatch) << 32 | static_cast<std::uint64_t>(r.sequence));
  mix.add(std::uint64_t{r.tp} << 48 | std::uint64_t{r.tp2} << 32 | std::uint64_t{r.cp} << 16 |
          r.ep);
  mix.add(std::uint64_t{r.etp} << 40 | std::uint64_t{r.panels} << 16 |
          std::uint64_t{r.recompute_modules} << 8 | static_cast<std::uint64_t>(r.recompute) << 4 |
          static_cast<std::uint64_t>(r.context) << 2 | static_cast<std::uint64_t>(r.tensor));
  mix.add(static_cast<std::uint64_t>(r.precision) << 8 | (r.sequence_parallel ? 2U : 0U) |
          (r.flash_attention ? 1U : 0U));
  mix.add(static_cast<std::uint64_t>(r.lora_rank));
  return mix.value();
}

std::size_t PlanCosts::ScheduleHash::operator()(const ScheduleKey& key) const {
  HashMix mix;
  mix.add(static_cast<std::uint64_t>(key.kind) << 48 | std::uint64_t{key.pp} << 24 | key.vpp);
  mix.add(static_cast<std::uint64_t>(key.microbatches));
  return mix.value();
}

const ExecutionCost& PlanCosts::execution(const Plan& plan) {
  // Nobody holds on to an earlier plan's costs here.
  constexpr std::size_t kMost = 2000;
  if (executions_.size() > kMost) executions_.clear(), placed_.clear();
  const Execution run = execution_of(plan, state.model);
  std::unique_ptr<ExecutionCost>& cost = executions_[run];
  if (cost) return *cost;
  const OperatorGraph graph = make_operators(state.model, run);
  const Pricing pricing{state.system->kernels, state.constants};
  cost = std::make_unique<ExecutionCost>();
  cost->embedding = price(graph.embedding, pricing);
  for (const OperatorList& layer : graph.layers) cost->layers.push_back(price(layer, pricing));
  cost->head = price(graph.head, pricing);
  cost->boundary = graph.boundary;
  return *cost;
}

const ExecutionTime& PlanCosts::timed(const ExecutionCost& cost, const Plan& plan,
                                      const Layouts& layouts) {
  std::vector<Placed>& known = placed_[&cost];
  for (const Placed& placed : known) {
    if (placed.overlap == plan.overlap && same_for_operators(placed.layouts, layouts)) {
      return *placed.time;
    }
  }
  const PassTiming timing{times, layouts, plan.overlap, state.constants};
  auto time = std::make_unique<ExecutionTime>();
  time->embedding = time_list(cost.embedding, timing);
  for (const ListCost& layer : cost.layers) time->layers.push_back(time_list(layer, timing));
  time->head = time_list(cost.head, timing);
  known.push_back({layouts, plan.overlap, std::move(time)});
  return *known.back().time;
}

const ScheduleEntry& PlanCosts::schedule(const Plan& plan) {
  // After a few rounds the schedule repeats itself every pp microbatches.
  constexpr std::int64_t kRounds = 4;
  const std::int64_t all = plan.microbatches();
  const std::int64_t few = std::int64_t{plan.pp} * kRounds + all % plan.pp;
  const ScheduleKey key{plan.schedule, plan.pp, plan.vpp, std::min(all, few)};
  std::unique_ptr<ScheduleEntry>& entry = schedules_[key];
  if (entry) return *entry;
  entry = std::make_unique<ScheduleEntry>();
  // Possible plans have possible schedules.
  if (auto made = make_schedule(key.kind, key.pp, key.microbatches, key.vpp)) {
    entry->schedule = std::move(*made);
    entry->peaks = peak_in_flight(entry->schedule);
  }
  if (key.microbatches < few) return *entry;
  if (auto made = make_schedule(key.kind, key.pp, few + plan.pp, key.vpp)) {
    entry->longer = std::move(*made);
    entry->step = plan.pp;
  }
  return *entry;
}

Layouts layouts_of(const Plan& plan, const Placement& placement) {
  Layouts layouts;
  for (std::size_t group = 0; group < kGroups; ++group) {
    layouts.groups[group] = group_layout(plan, placement, static_cast<Group>(group));
  }
  return layouts;
}

}  // namespace flopcast::training
