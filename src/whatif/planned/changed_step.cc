#include "whatif/planned/changed_step.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric/median.h"
#include "flopcast/analytic/graph.h"
#include "flopcast/parallel.h"
#include "whatif/planned/new_degrees.h"
#include "whatif/planned/stage_parts.h"
#include "whatif/planned/tails.h"
#include "whatif/planned/transfer_network.h"

namespace flopcast::whatif::planned {
namespace {

Diagnostic no_step(ErrorCode code, std::string what, std::string hint) {
  return {code, "structure", std::move(what), std::move(hint)};
}

/// Passes over a chip's layers that what is sent once a step may hide behind: gradients are complete
/// after the last microbatch. Chunks take turns of up to as many microbatches as there are chips;
/// all but the last chunk's transfers hide behind those.
double cover_rounds(const Schedule& schedule) {
  const auto together =
      static_cast<double>(std::min<std::int64_t>(schedule.microbatches, schedule.chips));
  return std::max(1.0, together * (schedule.chunks - 1) / schedule.chunks);
}

class StepChanger {
 public:
  StepChanger(const Step& was, const StructureChange& change) : was_(was), change_(change) {}

  Result<ChangedStep> run() {
    if (!change_.on.empty()) {
      Result<TransferNetwork> network = TransferNetwork::of(change_.on);
      if (!network) return network.error();
      network_ = std::move(*network);
    }
    Result<NewDegrees> degrees =
        find_degrees(was_, change_, network_ ? &network_->cluster() : nullptr);
    if (!degrees) return degrees.error();
    degrees_ = std::move(*degrees);
    out_.assumed = degrees_.assumed;
    out_.step.degrees = degrees_.degrees;
    out_.step.halves_known = was_.halves_known;
    if (auto problem = add_schedule()) return *problem;
    if (auto problem = find_layers()) return *problem;
    if (auto problem = add_stages()) return *problem;
    if (auto problem = add_chips()) return *problem;
    out_.step.fixed = was_.fixed;
    wait_for_stragglers();
    return std::move(out_);
  }

 private:
  Schedule& schedule() { return out_.step.schedule; }
  const Schedule& schedule() const { return out_.step.schedule; }

  static bool splits_backward(const Schedule& schedule) {
    for (const auto& actions : schedule.actions) {
      for (const PipelineAction& a : actions) {
        if (a.op == PipelineOp::kBackwardWeight) return true;
      }
    }
    return false;
  }

  std::optional<Diagnostic> add_schedule() {
    const ScheduleKind kind = change_.schedule.value_or(was_.schedule.kind);
    if (kind == ScheduleKind::kDualPipeV) {
      return no_step(ErrorCode::kNoAnswer,
                     "two passes that share a chip: how much of each other they hide was not "
                     "recorded",
                     "another schedule");
    }
    const bool same = kind == was_.schedule.kind;
    const bool v_shaped = kind == ScheduleKind::kZeroBubbleV;
    const unsigned usual = v_shaped                                     ? 2
                           : kind == ScheduleKind::kInterleaved || same ? was_.schedule.chunks
                                                                        : 1;
    const unsigned chunks = change_.chunks.value_or(usual);
    // A pipeline of one chip has no schedule to choose.
    Result<Schedule> made = degrees_.pp == 1
                                ? make_schedule(ScheduleKind::kOneFOneB, 1, degrees_.microbatches)
                                : make_schedule(kind, degrees_.pp, degrees_.microbatches, chunks);
    if (!made) return made.error();
    if (splits_backward(*made) && !was_.halves_known) {
      return no_step(ErrorCode::kNoAnswer,
                     "gradients of inputs and of weights were recorded as one task: how long each "
                     "takes is not known",
                     "record a run whose schedule takes them apart");
    }
    if (made->chips > 1 && was_.schedule.chips == 1) {
      return no_step(ErrorCode::kNoAnswer, "no message between stages was recorded",
                     "record a run with two or more pipeline stages");
    }
    schedule() = std::move(*made);
    return std::nullopt;
  }

  /// Layers of each new stage; nothing where stages stay as they are.
  std::optional<Diagnostic> find_layers() {
    const std::uint32_t told = was_.layers();
    const std::uint32_t wanted = change_.layers.value_or(told);
    stages_stay_ = schedule().stages() == was_.schedule.stages() && wanted == told;
    const bool recomputes = change_.recompute.has_value();
    if (stages_stay_ && !recomputes && !degrees_change()) return std::nullopt;
    Result<ModelParts> parts = find_parts(was_);
    if (!parts && stages_stay_ && !recomputes) return std::nullopt;
    if (!parts) return parts.error();
    if (change_.layers && !parts->told) {
      return no_step(ErrorCode::kNoAnswer, "how many layers a pass has was not recorded",
                     "record the step anew: `flopcast estimate --engine graph --trace-out` tells "
                     "them");
    }
    parts_ = std::move(*parts);
    if (stages_stay_) return std::nullopt;
    return deal_layers(wanted);
  }
  bool degrees_change() const { return degrees_.replicas != 1; }

  std::optional<Diagnostic> deal_layers(std::uint32_t layers) {
    const unsigned stages = schedule().stages();
    if (!parts_->told) {
      layers_.assign(stages, parts_->layers / stages);
      out_.assumed.push_back("all stages hold as many layers, before and after");
      return std::nullopt;
    }
    if (layers < stages) {
      return no_step(ErrorCode::kUsage,
                     fmt::format("{} layers cannot be dealt to {} stages", layers, stages),
                     "fewer stages or chunks, or more layers");
    }
    Plan plan;
    plan.pp = schedule().chips, plan.vpp = schedule().chunks;
    for (const unsigned own : layers_per_stage(plan, layers)) layers_.push_back(own);
    return std::nullopt;
  }

  /// How many layers a stage has, in units of ModelParts::layer; 0 where that is not known.
  double layers_of(unsigned stage) const {
    if (!layers_.empty()) return layers_[stage];
    if (was_.stages[stage].layers) return *was_.stages[stage].layers;
    return parts_ ? 1 : 0;
  }

  // ---- stages -----------------------------------------------------------------------------------

  std::optional<Diagnostic> add_stages() {
    const unsigned stages = schedule().stages();
    for (unsigned s = 0; s < stages; ++s) {
      Stage stage;
      stage.times = stages_stay_ ? was_.stages[s].times : stage_times(s);
      if (parts_ && parts_->told) {
        stage.layers = static_cast<std::uint32_t>(std::lround(layers_of(s)));
      }
      out_.step.stages.push_back(stage);
    }
    if (!stages_stay_) out_.other_passes = true;
    if (auto problem = add_recomputation()) return problem;
    add_sends();
    return std::nullopt;
  }

  PassTimes stage_times(unsigned stage) const {
    PassTimes times = parts_->layer * layers_[stage] + parts_->host * (1.0 / schedule().chunks);
    if (stage == 0) times += parts_->embedding;
    if (stage + 1 == schedule().stages()) times += parts_->head;
    return times;
  }

  std::optional<Diagnostic> add_recomputation() {
    if (!change_.recompute) return std::nullopt;
    if (*change_.recompute == 0) {
      return no_step(ErrorCode::kNoAnswer,
                     "every pass is one task: what of a backward runs again was not recorded", "");
    }
    if (*change_.recompute != kAllLayers && !parts_->told) {
      return no_step(ErrorCode::kNoAnswer, "how many layers a pass has was not recorded", "");
    }
    for (unsigned s = 0; s < out_.step.stages.size(); ++s) {
      const double again = std::min(layers_of(s), static_cast<double>(*change_.recompute));
      out_.step.stages[s].times.input += parts_->layer.forward * again;
    }
    out_.other_passes = true;
    return std::nullopt;
  }

  void add_sends() {
    std::vector<double> recorded;
    for (const Stage& stage : was_.stages) {
      if (stage.send > 0) recorded.push_back(stage.send);
    }
    const double usual = recorded.empty() ? 0 : upper_median(recorded);
    const bool same = schedule().chips == was_.schedule.chips &&
                      schedule().stages() == was_.schedule.stages() &&
                      schedule().v_shaped() == was_.schedule.v_shaped();
    for (unsigned s = 0; s + 1 < schedule().stages(); ++s) {
      out_.step.stages[s].send = same ? was_.stages[s].send : usual;
    }
  }

  // ---- chips ------------------------------------------------------------------------------------

  std::optional<Diagnostic> add_chips() {
    const bool same_work = stages_stay_ && schedule().chips == was_.schedule.chips &&
                           schedule().chunks == was_.schedule.chunks &&
                           schedule().v_shaped() == was_.schedule.v_shaped();
    const bool same_cover =
        same_work && !change_.recompute && cover_rounds(schedule()) == cover_rounds(was_.schedule);
    if (same_cover && !degrees_change()) {
      out_.step.chips = was_.chips;
      return std::nullopt;
    }
    if (auto problem = check_replicas()) return problem;
    if (!parts_) return model_proportional(same_work);
    model_tails();
    return std::nullopt;
  }

  bool sends_gradients() const {
    return std::any_of(was_.chips.begin(), was_.chips.end(),
                       [](const Chip& chip) { return chip.reduce > 0; });
  }

  std::optional<Diagnostic> check_replicas() const {
    if (!degrees_change() || sends_gradients()) return std::nullopt;
    const bool alone = was_.degrees && was_.degrees->dp == 1;
    return no_step(ErrorCode::kNoAnswer,
                   alone ? "no reduction of gradients was recorded: what one takes is not known"
                         : "gradients are not reduced once a step but within passes: what "
                           "replicas change there is not known",
                   "record a run with dp 2 or more that reduces them once a step (ZeRO 0 or 1)");
  }

  /// The parts of the model are not known, and stages stay: transfers of other groups alone.
  std::optional<Diagnostic> model_proportional(bool same_work) {
    if (!same_work || change_.dp) return find_parts(was_).error();
    out_.step.chips = was_.chips;
    return std::nullopt;
  }

  std::vector<double> parameters(const Schedule& schedule, bool recorded) const {
    std::vector<double> out(schedule.chips, 0);
    for (unsigned s = 0; s < schedule.stages(); ++s) {
      const double layers = recorded ? recorded_layers(s) : layers_of(s);
      double& sum = out[schedule.chip_of(s)];
      sum += parts_->of_layer * layers;
      if (s == 0) sum += parts_->of_embedding;
      if (s + 1 == schedule.stages()) sum += parts_->of_head;
    }
    return out;
  }
  double recorded_layers(unsigned stage) const {
    return was_.stages[stage].layers ? *was_.stages[stage].layers : 1.0;
  }

  /// @param forward weights are gathered behind forwards, gradients reduced behind backwards
  std::vector<ChipLoad> loads(const Step& step, bool recorded, bool forward) const {
    const std::vector<double> own = parameters(step.schedule, recorded);
    std::vector<ChipLoad> out(step.schedule.chips);
    const double rounds = cover_rounds(step.schedule);
    for (unsigned s = 0; s < step.schedule.stages(); ++s) {
      ChipLoad& load = out[step.schedule.chip_of(s)];
      const PassTimes& times = step.stages[s].times;
      load.cover += rounds * (forward ? times.forward : times.backward());
      if (parts_->told) load.layers += recorded ? recorded_layers(s) : layers_of(s);
    }
    for (std::size_t chip = 0; chip < out.size(); ++chip) {
      out[chip].parameters = own[chip];
      if (parts_->told) out[chip].layers = std::max(1.0, out[chip].layers);
    }
    return out;
  }

  void model_tails() {
    // Where the recording shows no limit.
    const Hiding hiding = usual_hiding();
    const auto tail = [&](bool forward) {
      std::vector<double> left;
      std::vector<std::vector<WholeTransfer>> whole;
      for (const Chip& chip : was_.chips) {
        left.push_back(forward ? chip.gather : chip.reduce);
        whole.push_back(forward ? chip.gathers : chip.reduces);
      }
      return Tail(left, whole, loads(was_, true, forward),
                  forward ? hiding.weights : hiding.gradients, hiding.contention);
    };
    const Tail gather = tail(true), reduce = tail(false);
    const auto ahead = loads(out_.step, false, true), behind = loads(out_.step, false, false);
    const bool sharded = gather.any();  // the optimizer's states: each replica updates its part
    for (unsigned chip = 0; chip < schedule().chips; ++chip) {
      Chip own;
      own.gather = gather.left(ahead[chip], degrees_.replicas, ratio());
      own.reduce = reduce.left(behind[chip], degrees_.replicas, ratio());
      own.optimizer = ahead[chip].parameters / (sharded ? degrees_.replicas : 1);
      out_.step.chips.push_back(own);
    }
    out_.other_transfers = gather.any() || reduce.any();
    out_.transfers_by = network_ ? "by the model of the network of " + change_.on
                                 : "by the bytes on a ring's links";
  }

  TransferRatio ratio() const {
    if (!network_ || !was_.degrees) return ring_ratio;
    return [this](const WholeTransfer& recorded, double bytes, std::uint32_t ranks) {
      // Members of a group lie as far apart as the group leaves room for others.
      const Degrees& d = *was_.degrees;
      const std::uint32_t apart = std::max(1U, d.tp * d.cp * d.dp / recorded.ranks);
      return network_->ratio(recorded, bytes, ranks, apart);
    };
  }

  void wait_for_stragglers() {
    const double k = straggler_factor(was_.degrees, degrees_.degrees);
    if (k == 1) return;
    for (Stage& stage : out_.step.stages) {
      stage.times = stage.times * k;
      stage.send *= k;
    }
    for (Chip& chip : out_.step.chips) chip.gather *= k, chip.reduce *= k, chip.optimizer *= k;
    out_.step.fixed *= k;
    out_.assumed.push_back(
        "every doubling of nodes waits as much longer for the slowest as those "
        "recorded");
  }

  const Step& was_;
  const StructureChange& change_;
  std::optional<TransferNetwork> network_;
  NewDegrees degrees_;
  std::optional<ModelParts> parts_;
  bool stages_stay_ = false;
  std::vector<double> layers_;  // of each new stage; empty: stages stay
  ChangedStep out_;
};

}  // namespace

Result<ChangedStep> change_step(const Step& recorded, const StructureChange& change) {
  return StepChanger(recorded, change).run();
}

}  // namespace flopcast::whatif::planned
