#include "analytic/search/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/divisors.h"

namespace flopcast::analytic::search {
namespace {

std::int64_t expert_count(const Model& model) {
  std::int64_t count = 0;
  for (const Layer& layer : model.kinds) count = std::max(count, layer.experts.count);
  return count;
}

/// No plan has more: embedding and loss may have a stage of their own.
std::int64_t most_stages(const Model& model) { return model.layers() + 2; }

/// Takes the last digit of a mixed-radix number.
std::size_t take(std::uint64_t& number, std::size_t radix) {
  const std::uint64_t digit = number % radix;
  number /= radix;
  return digit;
}

}  // namespace

Space::Space(const Model& model, const PlanSearchOptions& options, PlanRules rules, unsigned chips,
             LaunchContext launch)
    : model_(model),
      options_(options),
      rules_(std::move(rules)),
      chips_(chips),
      launch_(launch),
      experts_(expert_count(model)) {
  const std::vector<std::int64_t> degrees = divisors(chips);
  tps_ = rules_.tp.of(degrees);
  cps_ = rules_.cp.of(degrees);
  pps_ = rules_.pp.of(degrees);
  std::erase_if(pps_, [&](std::int64_t pp) { return pp > most_stages(model_); });
  eps_ = rules_.ep.of(divisors(std::max<std::int64_t>(experts_, 1)));
  micro_batches_ = rules_.micro_batch.of(divisors(options.global_batch));
  make_stages();
  make_executions();
  make_parts();
}

void Space::make_parts() {
  for (const std::int64_t tp : tps_) {
    for (const std::int64_t cp : cps_) {
      if (chips_ % (tp * cp * options_.base.tp2) != 0) continue;
      for (const std::int64_t ep : eps_) {
        if (chips_ % ep != 0) continue;
        for (const std::int64_t micro_batch : micro_batches_) {
          parts_.push_back({static_cast<unsigned>(tp), static_cast<unsigned>(cp),
                            static_cast<unsigned>(ep), micro_batch});
        }
      }
    }
  }
}

void Space::make_executions() {
  std::vector<std::int64_t> etps = {0};
  if (experts_ > 0) etps = rules_.etp.of(divisors(chips_));
  for (const std::int64_t etp : etps) {
    for (const ContextKind context : rules_.contexts) {
      for (const bool sequence_parallel : rules_.sequence_parallel) {
        for (const Recompute recompute : rules_.recomputes) {
          for (const Precision precision : rules_.precisions) {
            executions_.push_back(
                {static_cast<unsigned>(etp), context, sequence_parallel, recompute, precision});
          }
        }
      }
    }
  }
}

void Space::make_stages() {
  // Without a pipeline there is but one schedule, whatever is asked of schedules.
  stages_.push_back({ScheduleKind::kOneFOneB, 1});
  for (const ScheduleKind schedule : rules_.schedules) {
    switch (schedule) {
      case ScheduleKind::kOneFOneB:
        break;
      case ScheduleKind::kGpipe:
      case ScheduleKind::kZeroBubbleH1:
        stages_.push_back({schedule, 1});
        break;
      case ScheduleKind::kZeroBubbleV:
      case ScheduleKind::kDualPipeV:
        stages_.push_back({schedule, 2});
        break;
      case ScheduleKind::kInterleaved:
        for (std::int64_t vpp = 2; vpp <= most_stages(model_); ++vpp) {
          stages_.push_back({schedule, static_cast<unsigned>(vpp)});
        }
    }
  }
  std::erase_if(stages_, [&](const StageChoice& stage) { return !rules_.vpp.allows(stage.vpp); });
}

Plan Space::plan_of(const Part& part) const {
  Plan plan = options_.base;
  plan.global_batch = options_.global_batch;
  plan.sequence = options_.sequence;
  plan.tp = part.tp;
  plan.cp = part.cp;
  plan.ep = part.ep;
  plan.micro_batch = part.micro_batch;
  return plan;
}

void Space::set(Plan& plan, const ExecutionChoice& choice) const {
  plan.etp = choice.etp;
  plan.context = choice.context;
  plan.sequence_parallel = choice.sequence_parallel;
  plan.recompute = choice.recompute;
  plan.precision = choice.precision;
}

bool Space::counts(const Part& part, const ExecutionChoice& choice) const {
  if (part.cp == 1 && choice.context != rules_.contexts.front()) return false;
  if (part.tp == 1 && choice.sequence_parallel != rules_.sequence_parallel.front()) return false;
  return experts_ == 0 || rules_.etp_named || part.tp % choice.etp == 0;
}

bool Space::asked(ScheduleKind schedule) const {
  return std::find(rules_.schedules.begin(), rules_.schedules.end(), schedule) !=
         rules_.schedules.end();
}

bool Space::counts(const Plan& plan, const StageChoice& stage) const {
  if (plan.pp == 1) return stage.schedule == ScheduleKind::kOneFOneB;
  if (!asked(stage.schedule)) return false;
  return stage.schedule != ScheduleKind::kInterleaved || equal_stages(plan);
}

bool Space::counts(const Plan& plan, Zero zero) const {
  // Nothing is shared where there is one copy, and nothing by halves where there is no sharing.
  const unsigned copies = plan.dp * plan.cp * (plan.tensor == TensorKind::kTwoD ? plan.tp2 : 1);
  const bool alone = copies == 1 && (experts_ == 0 || plan.expert_dp() == 1);
  if (alone && (zero != rules_.zeros.front() || plan.shard != rules_.shards.front())) return false;
  return zero != Zero::kNone || plan.shard == rules_.shards.front();
}

bool Space::equal_stages(const Plan& plan) const {
  if (!plan.stage_layers.empty()) return true;
  const std::int64_t stages = std::int64_t{plan.pp} * plan.vpp;
  const bool ends = plan.count_embedding || plan.count_loss;
  if (!ends && model_.layers() % stages == 0) return true;
  // Embedding and loss count as a layer each where layers alone cannot be dealt.
  const std::int64_t units = model_.layers() + (plan.count_embedding || !ends ? 1 : 0) +
                             (plan.count_loss || !ends ? 1 : 0);
  return units % stages == 0;
}

bool Space::executable(const Plan& plan) const {
  Plan alone = plan;
  alone.ep = alone.etp = alone.pp = alone.dp = alone.vpp = 1;
  alone.shard = 0;
  alone.global_batch = plan.micro_batch;
  alone.stage_layers.clear();
  return plan_possible(alone, model_);
}

bool Space::set_stages(Plan& plan, unsigned pp) const {
  const std::uint64_t others = std::uint64_t{plan.tp} * plan.tp2 * plan.cp * pp;
  plan.pp = pp;
  if (chips_ % others != 0) return false;
  plan.dp = static_cast<unsigned>(chips_ / others);
  return rules_.dp.allows(plan.dp) && plan.global_batch % (plan.dp * plan.micro_batch) == 0;
}

Plan Space::plan(std::uint64_t number) const {
  std::uint64_t place = number & ((std::uint64_t{1} << kPlaceBits) - 1);
  Plan plan = plan_of(parts_[part_of(number)]);
  plan.zero = rules_.zeros[take(place, rules_.zeros.size())];
  const StageChoice& stage = stages_[take(place, stages_.size())];
  plan.schedule = stage.schedule;
  plan.vpp = stage.vpp;
  plan.shard = rules_.shards[take(place, rules_.shards.size())];
  set_stages(plan, static_cast<unsigned>(pps_[take(place, pps_.size())]));
  set(plan, executions_[place]);
  return settled(plan);
}

Plan Space::settled(const Plan& plan) const {
  Plan settled = plan;
  if (options_.launchable) settle_plan(settled, *options_.launchable, launch_, options_.named);
  return settled;
}

bool Space::runs(const Plan& plan) const {
  return !options_.launchable || launchable(plan, *options_.launchable, launch_);
}

std::string Space::launch_refusal(const Plan& plan) const {
  // What holds of any degrees tells more than what holds of these.
  Plan plain = plan;
  plain.tp = plain.cp = plain.pp = plain.dp = plain.ep = plain.vpp = 1;
  plain.etp = 0;
  plain.sequence_parallel = false;
  plain.recompute = Recompute::kNone;
  const std::vector<std::string> all = write_plan(plan, *options_.launchable, launch_).lost;
  for (const std::string& one : write_plan(settled(plain), *options_.launchable, launch_).lost) {
    if (std::find(all.begin(), all.end(), one) != all.end()) return one;
  }
  return all.front();
}

std::string Space::refusal(const Plan& plan) const {
  if (!rules_.dp.allows(plan.dp)) {
    return fmt::format("dp: what is left of {} chips is {}, which its constraint excludes", chips_,
                       plan.dp);
  }
  const std::vector<Diagnostic> problems = plan_problems(plan, model_, chips_);
  if (!problems.empty()) return fmt::format("{}: {}", problems[0].where, problems[0].what);
  if (plan.pp > 1 && plan.schedule == ScheduleKind::kInterleaved && !equal_stages(plan)) {
    return fmt::format("vpp: {} layers do not make {} x {} equal stages", model_.layers(), plan.pp,
                       plan.vpp);
  }
  if (!runs(plan)) {
    return fmt::format("launchable: {} cannot run {}", name(*options_.launchable),
                       launch_refusal(plan));
  }
  return "etp: its constraint excludes what the other degrees allow";
}

void Space::refusals(std::size_t part, Refusals& counts_of) const {
  Plan plan = plan_of(parts_[part]);
  set(plan, executions_.front());
  for (const ExecutionChoice& choice : executions_) {
    if (!counts(parts_[part], choice)) continue;
    set(plan, choice);
    if (executable(plan)) break;
  }
  plan.shard = rules_.shards.front();
  plan.zero = rules_.zeros.front();
  bool divides = false;
  for (const std::int64_t pp : pps_) {
    plan.dp = 0;
    set_stages(plan, static_cast<unsigned>(pp));
    if (plan.dp == 0) continue;
    divides = true;
    if (pp == 1 && !rules_.vpp.allows(1)) counts_of.add("vpp: a single stage has no virtual ones");
    std::optional<ScheduleKind> last;
    for (const StageChoice& stage : stages_) {
      const bool apart = pp == 1 && stage.schedule != ScheduleKind::kOneFOneB;
      if (apart || (pp > 1 && !asked(stage.schedule)) || last == stage.schedule) continue;
      last = stage.schedule;
      plan.schedule = stage.schedule;
      plan.vpp = stage.vpp;
      counts_of.add(refusal(settled(plan)));
    }
  }
  if (divides) return;
  counts_of.add(fmt::format("pp: tp {} x cp {} x pp leaves nothing of {} chips with any pp allowed",
                            plan.tp, plan.cp, chips_));
}

std::optional<std::string> Space::no_parts() const {
  const auto none = [](std::string_view name, std::string_view of) {
    return fmt::format("{}: no divisor of {} satisfies its constraints", name, of);
  };
  const std::string chips = fmt::format("{} chips", chips_);
  if (tps_.empty()) return none("tp", chips);
  if (cps_.empty()) return none("cp", chips);
  if (pps_.empty()) return none("pp", fmt::format("{} for {} layers", chips, model_.layers()));
  if (micro_batches_.empty()) {
    return none("micro_batch", fmt::format("a global batch of {}", options_.global_batch));
  }
  if (eps_.empty()) {
    return experts_ == 0 ? fmt::format("ep: {} has no experts", model_.name)
                         : none("ep", fmt::format("{} experts", experts_));
  }
  if (executions_.empty()) return none("etp", chips);
  if (stages_.empty()) return "vpp: no schedule asked for has as many virtual stages";
  if (parts_.empty()) return fmt::format("tp x cp: no product divides {}", chips);
  return std::nullopt;
}

}  // namespace flopcast::analytic::search
