// TrainingModel and its twin for searches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analytic/step/check_answer.h"
#include "analytic/step/memory.h"
#include "analytic/step/memory_notes.h"
#include "analytic/step/time.h"
#include "analytic/step/training_state.h"
#include "analytic/step/unstated.h"
#include "base/numeric/clock.h"
#include "base/text/format.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/analytic/reuse.h"
#include "flopcast/parallel/names.h"

namespace flopcast {
namespace {

using namespace analytic;

std::vector<unsigned> tiers_of(const Cluster& cluster) {
  std::vector<unsigned> tiers;
  unsigned chips = 1;
  for (std::size_t i = 0; i < cluster.levels.size(); ++i) {
    chips *= cluster.levels[i].size;
    if (i + 1 >= cluster.node_levels) tiers.push_back(chips);
  }
  return tiers;
}

std::vector<std::vector<std::uint32_t>> layers_before_each(const Model& model) {
  std::vector<std::vector<std::uint32_t>> before(model.kinds.size());
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    before[kind].push_back(0);
    for (const std::uint16_t of : model.order) {
      before[kind].push_back(before[kind].back() + (of == kind ? 1 : 0));
    }
  }
  return before;
}

double recomputed_flops(const OperatorGraph& graph, const Model& model) {
  double flops = 0;
  for (std::size_t kind = 0; kind < graph.layers.size(); ++kind) {
    for (const Operator& op : graph.layers[kind].operators) {
      if (!op.recomputed) continue;
      flops += total_work(op.forward).matrix.value * static_cast<double>(model.count(kind));
    }
  }
  return flops;
}

/// What MFU is of. Beside products in fewer than 16 bits, those of attention stay in 16: the faster of both.
FlopsPerSecond step_peak(const Chip& chip, Precision precision) {
  const DataType type = multiplied_type(precision);
  const FlopsPerSecond peak = peak_rate(chip, type);
  const bool narrow = type == DataType::kFp8 || type == DataType::kFp4 || type == DataType::kInt8;
  return narrow ? std::max(peak, peak_rate(chip, DataType::kBf16)) : peak;
}

/// How likely the fullest stage fits, and whether that is as likely as asked.
void set_odds(TrainingEstimate& out, double asked) {
  const Bytes needed = out.memory().total();
  out.memory_low = needed * plan_odds().memory_low;
  out.memory_high = needed * plan_odds().memory_high;
  out.fit_odds = fit_odds(needed, out.capacity);
  out.fits = needed <= largest_fitting(out.capacity, asked);
}

struct Rates {
  double tokens_per_second = 0, mfu = 0, hfu = 0;
};

Rates rates_of(const TrainingModel::State& state, const Plan& plan, double step_s) {
  Rates rates;
  const std::int64_t sequence = sequence_of(plan, state.model);
  const auto sequences = static_cast<double>(plan.global_batch);
  const TrainingFlops flops = training_flops(state.model, sequence);
  // Frozen weights have no gradient: two products of three (LoRA).
  const double linear = flops.linear.value * (plan.lora_rank > 0 ? 2.0 / 3 : 1);
  const double model_flops = sequences * (linear + flops.attention.value);
  const double again =
      recomputed_flops(make_operators(state.model, execution_of(plan, state.model)), state.model);
  const double all_again =
      again / static_cast<double>(plan.micro_batch) * sequences * plan.tp * plan.tp2 * plan.cp;
  const double peak =
      step_peak(state.system->machine.cluster().chip, plan.precision).value * plan.chips();
  rates.tokens_per_second = sequences * static_cast<double>(sequence) / step_s;
  if (peak > 0) {
    rates.mfu = model_flops / step_s / peak;
    rates.hfu = (model_flops + all_again) / step_s / peak;
  }
  return rates;
}

/// A chip held below its rated power runs at lower clocks.
void apply_power(const System& system, Constants& constants) {
  const double share = system.machine.power_share(constants.power_exponent);
  constants.matrix_share *= share;
  constants.narrow_share *= share;
  constants.fp4_share *= share;
  constants.attention_share *= share;
  constants.attention_backward_share *= share;
}

/// What a plan says that is priced as something near it, or not at all.
std::vector<std::string> plan_notes(const Plan& plan) {
  std::vector<std::string> notes;
  if (plan.cuda_graph) {
    notes.emplace_back(
        "CUDA graphs: a pass of a layer is one launch, but for its experts; what graphs keep in "
        "memory is not counted");
  }
  if (plan.dispatcher == DispatcherKind::kHybridEp) {
    notes.emplace_back("HybridEP: rows are sent and sorted as by DeepEP");
  }
  return notes;
}

bool has_experts(const Model& model) {
  return std::ranges::any_of(model.kinds, [](const Layer& l) { return l.experts.count > 0; });
}

/// Of options that no file was read for.
std::optional<Diagnostic> wrong_options(const TrainingOptions& options) {
  if (!(options.usd_per_chip_hour >= 0 && std::isfinite(options.usd_per_chip_hour)))
    return usage_error("price", fmt::format("{} is no price", options.usd_per_chip_hour),
                       "give USD per chip and hour, 0 or more");
  if (!(options.memory_share > 0 && options.memory_share <= 1))
    return usage_error("memory", fmt::format("{} is no share", options.memory_share),
                       "give a number above 0, to 1");
  return odds_problem("fit-odds", options.fit_odds);
}

std::vector<std::shared_ptr<const FitFile>> own_fits(const System& system,
                                                     const TrainingOptions& options) {
  std::vector<std::shared_ptr<const FitFile>> fits = system.machine.cluster().fits;
  fits.insert(fits.end(), options.fits.begin(), options.fits.end());
  return fits;
}

/// Where nobody told the software, and more than one may have run, the band is that of not knowing.
StepBand band_of(const TrainingModel::State& state) {
  const bool experts = has_experts(state.model);
  const bool unstated =
      state.options.software.empty() && state.software == training_software().front();
  if (unstated && !state.constants.own_band)
    return unstated_band(state.system->machine.cluster().as_measured().chip, experts);
  const Constants& c = state.constants;
  return experts ? StepBand{c.band_experts_low, c.band_experts_high}
                 : StepBand{c.band_low, c.band_high};
}

}  // namespace

std::string_view name(TimePart part) {
  constexpr std::array<std::string_view, kTimeParts> kNames = {
      "matrix",  "attention", "memory_bound", "recompute", "tensor", "context",   "expert",
      "weights", "gradients", "bubble",       "optimizer", "host",   "contention"};
  return kNames[static_cast<std::size_t>(part)];
}

Result<std::shared_ptr<const System>> analytic::make_system(Cluster cluster, const Catalog& catalog,
                                                            const KernelModelOptions& options) {
  std::vector<unsigned> tiers = tiers_of(cluster);
  MachineOptions of_machine{options, nullptr};
  of_machine.uses.push_back(FitKind::kConstants);
  of_machine.asker = "a forecast of training";
  Result<Machine> machine = Machine::make(std::move(cluster), catalog, of_machine);
  if (!machine) return machine.error();
  return std::make_shared<const System>(System{std::move(*machine), std::move(tiers)});
}

Result<TrainingModel> TrainingModel::State::make(Model model, std::shared_ptr<const System> system,
                                                 const TrainingOptions& options) {
  // What a chip loses in training was found on it as it is.
  const Chip& chip = system->machine.cluster().as_measured().chip;
  const std::string software = software_name(options.software, chip);
  const std::vector<std::shared_ptr<const FitFile>> fits = own_fits(*system, options);
  Result<Constants> constants = training_constants(chip, software, fits, options.fits.empty());
  if (!constants) return constants.error();
  apply_power(*system, *constants);
  auto before = layers_before_each(model);
  return TrainingModel(std::make_unique<State>(State{std::move(model), std::move(system), options,
                                                     software, *constants, std::move(before)}));
}

TrainingModel TrainingModel::State::again(const State& known, Model model) {
  auto before = layers_before_each(model);
  return TrainingModel(
      std::make_unique<State>(State{std::move(model), known.system, known.options, known.software,
                                    known.constants, std::move(before)}));
}

Constants analytic::dispatched_constants(const TrainingModel::State& state,
                                         DispatcherKind dispatcher) {
  const Chip& chip = state.system->machine.cluster().as_measured().chip;
  const auto rows =
      dispatcher_constants(chip, name(dispatcher), own_fits(*state.system, state.options));
  // The catalogue has every dispatcher (TrainingConstants.EveryDispatcherHasItsConstants), and the state's own constants
  // were read of the same files.
  Constants constants = state.constants;
  if (!rows) return constants;
  constants.expert_once = rows->expert_once;
  constants.expert_traffic = rows->expert_traffic;
  return constants;
}

Result<TrainingModel> TrainingModel::make(Model model, Cluster cluster, const Catalog& catalog,
                                          const TrainingOptions& options) {
  if (auto wrong = wrong_options(options)) return *wrong;
  auto system = analytic::make_system(std::move(cluster), catalog, options.kernels);
  if (!system) return system.error();
  return State::make(std::move(model), std::move(*system), options);
}

TrainingModel with_model(const TrainingModel& known, Model model) {
  return TrainingModel::State::again(known.state(), std::move(model));
}

Result<TrainingModel> with_options(const TrainingModel& known, const TrainingOptions& options) {
  const TrainingModel::State& state = known.state();
  return TrainingModel::State::make(state.model, state.system, options);
}

TrainingModel::TrainingModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrainingModel::TrainingModel(TrainingModel&&) noexcept = default;
TrainingModel& TrainingModel::operator=(TrainingModel&&) noexcept = default;
TrainingModel::~TrainingModel() = default;

const Model& TrainingModel::model() const { return state_->model; }
const Cluster& TrainingModel::cluster() const { return state_->system->machine.cluster(); }
std::string TrainingModel::software() const { return state_->software; }
const TrainingOptions& TrainingModel::options() const { return state_->options; }
std::vector<unsigned> TrainingModel::tiers() const { return state_->system->tiers; }

std::vector<TrainingConstant> TrainingModel::constants() const {
  std::vector<TrainingConstant> all;
  for (const TrainingConstantField& f : training_constant_fields()) {
    all.push_back({f.name, state_->constants.*(f.member), f.low, f.high, f.meaning});
  }
  return all;
}

namespace {

Diagnostic step_beyond_clock(const TrainingEstimate& estimate) {
  const auto longest = std::max_element(estimate.parts.begin(), estimate.parts.end());
  const auto part = static_cast<TimePart>(longest - estimate.parts.begin());
  return beyond_clock(
      "step",
      fmt::format("it takes {}, {} of it {}", short_time(estimate.step), short_time(*longest),
                  name(part)),
      "look at the numbers of the machine: a bandwidth without its unit is of bytes a second");
}

}  // namespace

Result<TrainingEstimate> TrainingModel::estimate(const Plan& plan,
                                                 const Placement* placement) const {
  const std::vector<Diagnostic> problems = plan_problems(plan, state_->model);
  if (!problems.empty()) return problems.front();
  if (plan.chips() > state_->system->machine.cluster().chips()) {
    return Diagnostic{ErrorCode::kUsage, state_->system->machine.cluster().name,
                      fmt::format("the plan needs {} chips, the cluster has {}", plan.chips(),
                                  state_->system->machine.cluster().chips()),
                      "name a larger cluster or smaller degrees of parallelism"};
  }
  TrainingEstimate out;
  out.placement =
      placement != nullptr ? *placement : default_placement(plan, state_->system->tiers);
  PlanCosts costs(*state_);
  const StepCosts step = step_costs(costs, plan, out.placement);
  const StepTime time = step_time(costs, plan, step);
  const Parts parts = step_parts(costs, plan, step, time);
  out.step = Seconds{time.step_s};
  for (std::size_t i = 0; i < kTimeParts; ++i) out.parts[i] = Seconds{std::max(parts[i], 0.0)};
  if (!fits_clock(out.step)) return step_beyond_clock(out);
  const StepBand band = band_of(*state_);
  out.low = out.step * band.low;
  out.high = out.step * band.high;

  const std::vector<StageMemory> memory = stage_memory(costs, plan);
  for (unsigned chip = 0; chip < plan.pp; ++chip) {
    StageEstimate stage;
    stage.memory = memory[chip];
    for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
      const StageCost& cost = step.stages[stage_of(plan, chip, chunk)];
      stage.layers += cost.layers;
      stage.forward += Seconds{cost.forward_s};
      stage.backward += Seconds{cost.input_s + cost.weight_s};
    }
    stage.busy = time.pipeline.busy[chip];
    stage.start = time.pipeline.start[chip];
    stage.end = time.pipeline.end[chip];
    if (stage.memory.total() > memory[out.fullest].total()) out.fullest = chip;
    out.stages.push_back(stage);
  }
  out.capacity = state_->system->machine.cluster().chip.hbm_capacity * state_->options.memory_share;
  set_odds(out, state_->options.fit_odds);
  out.memory_notes = memory_notes(costs, plan, out.fullest, out.memory());

  const Rates rates = rates_of(*state_, plan, time.step_s);
  out.tokens_per_second = rates.tokens_per_second;
  out.mfu = rates.mfu;
  out.hfu = rates.hfu;
  out.energy_j = state_->system->machine.cluster().chip.power_w * plan.chips() * time.step_s;
  out.cost_usd = state_->options.usd_per_chip_hour * plan.chips() * time.step_s / 3600;
  double all = 0;
  for (const double share : step.rests_on_s) all += share;
  for (std::size_t i = 0; i < out.rests_on.size(); ++i) {
    out.rests_on[i] = all > 0 ? step.rests_on_s[i] / all : 0;
  }
  out.assumed = plan_notes(plan);
  if (auto problem = check_answer(out)) return *std::move(problem);
  return out;
}

struct PlanScorer::State {
  explicit State(const TrainingModel::State& model) : costs(model) {}
  PlanCosts costs;
};

PlanScorer::PlanScorer(const TrainingModel& model)
    : state_(std::make_unique<State>(model.state())) {}
PlanScorer::PlanScorer(PlanScorer&&) noexcept = default;
PlanScorer& PlanScorer::operator=(PlanScorer&&) noexcept = default;
PlanScorer::~PlanScorer() = default;

Bytes PlanScorer::memory(const Plan& plan) {
  Bytes most;
  for (const StageMemory& stage : stage_memory(state_->costs, plan)) {
    most = std::max(most, stage.total());
  }
  return most;
}

Seconds PlanScorer::time_at_least(const Plan& plan, const Placement& placement) {
  const StepCosts step = step_costs(state_->costs, plan, placement);
  return Seconds{step_at_least(state_->costs, plan, step)};
}

Seconds PlanScorer::time_at_least(const Plan& plan) {
  const StepCosts step = step_costs(state_->costs, plan, Layouts{});
  return Seconds{step_at_least(state_->costs, plan, step)};
}

Seconds PlanScorer::time(const Plan& plan, const Placement& placement) {
  const StepCosts step = step_costs(state_->costs, plan, placement);
  return Seconds{step_time(state_->costs, plan, step).step_s};
}

}  // namespace flopcast
