#include "analytic/step/plan_costs.h"

#include <algorithm>

namespace flopcast::analytic {
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

void add_weights(ChipWeights& to, const ChipWeights& from, std::int64_t times = 1) {
  to.dense += from.dense * times;
  to.expert += from.expert * times;
  to.dense_trainable += from.dense_trainable * times;
  to.expert_trainable += from.expert_trainable * times;
}

void add_stage(ChipHeld& held, const ExecutionCost& cost, const PipelineShape::Stage& stage,
               const TrainingModel::State& state) {
  double saved = 0;  // of one microbatch
  for (std::size_t kind = 0; kind < cost.layers.size(); ++kind) {
    add_weights(held.weights, cost.layers[kind].weights, stage.of_kind[kind]);
    saved += cost.layers[kind].saved_bytes * stage.of_kind[kind];
  }
  if (held.layers.empty() || saved > held.saved_bytes) {
    held.saved_bytes = saved;
    held.layers.assign(stage.of_kind.begin(), stage.of_kind.end());
  }
  if (stage.first) {
    add_weights(held.weights, cost.embedding.weights);
    held.first = true;
    held.first_bytes = cost.embedding.saved_bytes;
  }
  if (stage.last) {
    add_weights(held.weights, cost.head.weights);
    held.last = true;
    held.last_bytes = cost.head.saved_bytes;
  }
  // A tied head on another chip than the embedding is a copy of its own, and so is the table of further tokens.
  const bool copies = state.model.tied_embeddings || cost.predicts;
  if (stage.last && !stage.first && copies) {
    add_weights(held.weights, cost.embedding.weights);
  }
}

/// Groups that operators communicate in; the others do not change their times.
constexpr std::array kOperatorGroups = {Group::kTensor, Group::kTensor2, Group::kContext,
                                        Group::kExpert, Group::kExpertTensor};

bool same_for_operators(const Layouts& a, const Layouts& b) {
  return std::ranges::all_of(kOperatorGroups, [&](Group group) { return a[group] == b[group]; });
}

}  // namespace

PlanCosts::PlanCosts(const TrainingModel::State& state_)
    : state(state_),
      times(state_.system->machine.transfers(), state_.system->tiers, state_.options.collectives),
      kernels_(state_.system->machine.kernels()) {}

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
  mix.add(static_cast<std::uint64_t>(r.lora_rank) << 9 | std::uint64_t{r.mtp_layers} << 1 |
          (r.lora_mlp ? 1U : 0U));
  mix.add(static_cast<std::uint64_t>(r.dispatcher) << 1 | (r.cuda_graph ? 1U : 0U));
  return mix.value();
}

std::size_t PlanCosts::ScheduleHash::operator()(const ScheduleKey& key) const {
  HashMix mix;
  mix.add(static_cast<std::uint64_t>(key.kind) << 48 | std::uint64_t{key.pp} << 24 | key.vpp);
  mix.add(static_cast<std::uint64_t>(key.microbatches));
  return mix.value();
}

std::size_t PlanCosts::ShapeHash::operator()(const ShapeKey& key) const {
  HashMix mix;
  mix.add(std::uint64_t{key.pp} << 32 | std::uint64_t{key.vpp} << 3 | (key.folded ? 4U : 0U) |
          (key.count_embedding ? 2U : 0U) | (key.count_loss ? 1U : 0U));
  for (const unsigned layers : key.stage_layers) mix.add(layers);
  return mix.value();
}

std::size_t PlanCosts::HeldHash::operator()(const HeldKey& key) const {
  HashMix mix;
  mix.add(reinterpret_cast<std::uintptr_t>(key.cost));
  mix.add(reinterpret_cast<std::uintptr_t>(key.shape));
  return mix.value();
}

ExecutionCost& PlanCosts::execution(const Plan& plan) {
  Execution run = execution_of(plan, state.model);
  run.whole_inputs = state.constants.whole_inputs > 0;
  run.idle_outputs = state.constants.idle_outputs > 0;
  run.apart_activations = state.constants.apart_activations > 0;
  if (last_cost_ != nullptr && run == last_run_) return *last_cost_;
  // Nobody holds on to an earlier plan's costs here.
  constexpr std::size_t kMost = 2000;
  if (executions_.size() > kMost) {
    executions_.clear(), placed_.clear(), held_.clear(), dynamic.clear();
  }
  std::unique_ptr<ExecutionCost>& cost = executions_[run];
  last_graph_.reset();
  if (!cost) {
    last_graph_ = make_operators(state.model, run);
    cost = std::make_unique<ExecutionCost>();
    cost->embedding = keep(last_graph_->embedding, run, state.constants);
    for (const OperatorList& layer : last_graph_->layers)
      cost->layers.push_back(keep(layer, run, state.constants));
    cost->head = keep(last_graph_->head, run, state.constants);
    cost->boundary = last_graph_->boundary;
    cost->predicts = run.mtp_layers > 0;
  }
  last_run_ = run;
  last_cost_ = cost.get();
  return *cost;
}

const Constants& PlanCosts::constants_of(DispatcherKind dispatcher) {
  if (dispatcher == DispatcherKind::kUsual) return state.constants;
  std::optional<Constants>& known = dispatched_[static_cast<std::size_t>(dispatcher)];
  if (!known) known = dispatched_constants(state, dispatcher);
  return *known;
}

const ExecutionCost& PlanCosts::kept(const Plan& plan) { return execution(plan); }

const ExecutionCost& PlanCosts::priced(const Plan& plan) {
  ExecutionCost& cost = execution(plan);
  if (cost.priced) return cost;
  if (!last_graph_) last_graph_ = make_operators(state.model, last_run_);
  const Pricing pricing{kernels_, constants_of(last_run_.dispatcher), last_run_.precision,
                        last_run_.cuda_graph};
  price(last_graph_->embedding, pricing, cost.embedding);
  for (std::size_t i = 0; i < cost.layers.size(); ++i) {
    price(last_graph_->layers[i], pricing, cost.layers[i]);
  }
  price(last_graph_->head, pricing, cost.head);
  cost.priced = true;
  return cost;
}

const PipelineShape& PlanCosts::shape(const Plan& plan) {
  const ShapeKey key{plan.pp,         plan.vpp,         is_folded(plan), plan.count_embedding,
                     plan.count_loss, plan.stage_layers};
  const auto known = shapes_.find(key);
  if (known != shapes_.end()) return known->second;
  return shapes_.emplace(key, pipeline_shape(plan, state.model.layers(), state.layers_before))
      .first->second;
}

const std::vector<ChipHeld>& PlanCosts::held(const ExecutionCost& cost, const Plan& plan) {
  const PipelineShape& like = shape(plan);
  std::vector<ChipHeld>& held = held_[{&cost, &like}];
  if (!held.empty()) return held;
  for (const unsigned chip : like.chips) {
    ChipHeld of_chip;
    for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
      add_stage(of_chip, cost, like.stage(stage_of(plan, chip, chunk)), state);
    }
    held.push_back(of_chip);
  }
  return held;
}

KernelTimes::Answer PlanCosts::optimizer(const OptimizerTraffic& traffic) {
  if (traffic.read.value <= 0) return {};
  MemoryBound kernel{MemoryOp::kOptimizer, 1, 1, DataType::kFp32, false, traffic.read,
                     traffic.written};
  constexpr std::int64_t kRow = 4096;
  kernel.columns = kRow;
  kernel.rows = std::max<std::int64_t>(
      1, static_cast<std::int64_t>((traffic.read + traffic.written).value) / (28 * kRow));
  return kernels_.time(kernel);
}

unsigned PlanCosts::chips_of_node() const {
  return state.system->machine.cluster().chips_per_node();
}

const ExecutionTime& PlanCosts::timed(const ExecutionCost& cost, const Plan& plan,
                                      const Layouts& layouts) {
  std::vector<Placed>& known = placed_[&cost];
  for (const Placed& placed : known) {
    if (placed.overlap == plan.overlap && same_for_operators(placed.layouts, layouts)) {
      return *placed.time;
    }
  }
  const PassTiming timing{times, layouts, plan.overlap, constants_of(plan.dispatcher)};
  auto time = std::make_unique<ExecutionTime>();
  time->embedding = time_list(cost.embedding, timing);
  for (const ListCost& layer : cost.layers) time->layers.push_back(time_list(layer, timing));
  time->head = time_list(cost.head, timing);
  known.push_back({layouts, plan.overlap, std::move(time)});
  return *known.back().time;
}

ScheduleEntry& PlanCosts::entry_of(const Plan& plan) {
  // After a few rounds the schedule repeats itself every pp microbatches: the more ways a chip has to
  // fill a gap, the later.
  const bool plain =
      plan.schedule == ScheduleKind::kGpipe || plan.schedule == ScheduleKind::kOneFOneB;
  const std::int64_t rounds = plain ? 4 : 8;
  const std::int64_t all = plan.microbatches();
  const std::int64_t few = std::int64_t{plan.pp} * rounds + all % plan.pp;
  const ScheduleKey key{plan.schedule, plan.pp, plan.vpp, std::min(all, few)};
  std::unique_ptr<ScheduleEntry>& entry = schedules_[key];
  if (entry) return *entry;
  entry = std::make_unique<ScheduleEntry>();
  entry->microbatches = key.microbatches;
  entry->step = key.microbatches < few ? 0 : plan.pp;
  // Possible plans have possible schedules.
  if (const auto made = make_schedule(key.kind, key.pp, key.microbatches, key.vpp)) {
    entry->peaks = peak_in_flight(*made);
    entry->first_peak = peak_in_flight(*made, 0);
    entry->last_peak = peak_in_flight(*made, made->stages() - 1);
  }
  return *entry;
}

const ScheduleEntry& PlanCosts::schedule(const Plan& plan) { return entry_of(plan); }

ScheduleEntry& PlanCosts::run_schedule(const Plan& plan) {
  ScheduleEntry& entry = entry_of(plan);
  if (entry.program) return entry;
  const auto few = make_schedule(plan.schedule, plan.pp, entry.microbatches, plan.vpp);
  if (entry.step == 0) {
    entry.program.emplace(*few);
  } else {
    const std::int64_t more = entry.microbatches + entry.step;
    entry.program.emplace(*few, *make_schedule(plan.schedule, plan.pp, more, plan.vpp));
  }
  return entry;
}

Layouts layouts_of(const Plan& plan, const Placement& placement) {
  Layouts layouts;
  for (std::size_t group = 0; group < kGroups; ++group) {
    layouts.groups[group] = group_layout(plan, placement, static_cast<Group>(group));
  }
  return layouts;
}

}  // namespace flopcast::analytic
