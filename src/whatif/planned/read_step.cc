#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/numeric/median.h"
#include "whatif/model/planned_name.h"
#include "whatif/planned/told.h"

namespace flopcast::whatif::planned {
namespace {

using replaying::GpuTask;
using replaying::RankModel;
using replaying::Recording;

std::string_view task_name(const TraceSet& set, const RankModel& rank, const GpuTask& task) {
  return set.strings[rank.trace->events.name[task.row]];
}

Diagnostic not_read(std::string what, std::string hint) {
  return {ErrorCode::kNoAnswer, "structure", std::move(what), std::move(hint)};
}

class StepReader {
 public:
  StepReader(const TraceModel& model, const TraceSet& set, const Recording& recording)
      : model_(model), set_(set), rec_(recording) {}

  Result<Step> run() {
    if (auto problem = read_schedule()) return *problem;
    step_.stages.resize(step_.schedule.stages());
    step_.chips.resize(step_.schedule.chips);
    for (const ModelStage& stage : model_.stages) {
      if (stage.stage >= step_.schedule.chips) return not_read("stages without a number", "");
      read_rank(stage.stage, rec_.ranks[stage.rank]);
    }
    if (auto problem = settle()) return *problem;
    return std::move(step_);
  }

 private:
  std::optional<Diagnostic> read_schedule() {
    std::optional<ScheduleKind> kind = parse_schedule_kind(model_.schedule);
    if (model_.pp == 1 && !kind) kind = ScheduleKind::kOneFOneB;
    if (!kind || model_.stages.size() != model_.pp) {
      return not_read("the recorded order of passes is no known schedule: " +
                          (model_.schedule_evidence.empty() ? "no passes were found"
                                                            : model_.schedule_evidence),
                      "see `flopcast trace model`");
    }
    Result<Schedule> schedule = make_schedule(*kind, model_.pp, model_.microbatches, model_.chunks);
    if (!schedule) return schedule.error();
    step_.schedule = std::move(*schedule);
    return std::nullopt;
  }

  void read_rank(unsigned chip, const RankModel& rank) {
    if (!step_.degrees) step_.degrees = told_degrees(set_, *rank.trace);
    spans_ = told_spans(set_, *rank.trace);
    for (const GpuTask& task : rank.gpu) {
      const PlannedName name = planned_name(task_name(set_, rank, task));
      const double time = (task.end - task.start).seconds();
      Chip& own = step_.chips[chip];
      switch (name.task) {
        case PlannedTask::kGather:
          own.gather = time;
          break;
        case PlannedTask::kReduce:
          own.reduce = time;
          break;
        case PlannedTask::kOptimizer:
          own.optimizer = time;
          read_optimizer(own, rank, task);
          break;
        case PlannedTask::kFixed:
          step_.fixed = std::max(step_.fixed, time);
          break;
        default:
          if (name.chunk < step_.schedule.chunks) read_pass(chip, rank, task, name, time);
      }
    }
    read_transfers(step_.chips[chip]);
  }

  void read_pass(unsigned chip, const RankModel& rank, const GpuTask& task, const PlannedName& name,
                 double time) {
    const unsigned stage = step_.schedule.stage_of(chip, name.chunk);
    Samples& samples = samples_[stage];
    switch (name.task) {
      case PlannedTask::kForward:
        samples.forward.push_back(time);
        break;
      case PlannedTask::kBackward:
        samples.backward.push_back(time);
        break;
      case PlannedTask::kWeights:
        samples.weight.push_back(time);
        break;
      case PlannedTask::kSend:
        // A gradient goes over the boundary that the activation came over.
        samples_[name.backward && stage > 0 ? stage - 1 : stage].send.push_back(time);
        return;
      default:
        return;
    }
    if (name.microbatch == 0) read_parts(step_.stages[stage], rank, task, name);
  }

  /// Calls visit(part, seconds) for each told part of a task.
  template <typename Visit>
  void for_parts(const RankModel& rank, const GpuTask& task, Visit visit) const {
    const Events& ev = rank.trace->events;
    const std::int32_t stream = ev.stream[task.row];
    for (const ToldSpan& span : spans_) {
      // It begins inside; files round its end.
      if (span.stream != stream || span.start < ev.start[task.row] ||
          span.start >= ev.end(task.row)) {
        continue;
      }
      if (const auto part = told_part(span.name)) visit(*part, (span.end - span.start).seconds());
    }
  }

  void read_parts(Stage& stage, const RankModel& rank, const GpuTask& task,
                  const PlannedName& name) {
    for_parts(rank, task, [&](const ToldPart& told, double time) {
      if (!stage.parts) stage.parts.emplace();
      Stage::Parts& parts = *stage.parts;
      PassTimes& times = told.what == ToldPart::What::kEmbedding ? parts.embedding
                         : told.what == ToldPart::What::kLayers  ? parts.layers
                         : told.what == ToldPart::What::kHead    ? parts.head
                                                                 : parts.host;
      if (told.what == ToldPart::What::kLayers) stage.layers = told.layers;
      const bool weights = told.of_weights || name.task == PlannedTask::kWeights;
      (name.task == PlannedTask::kForward ? times.forward
       : weights                          ? times.weight
                                          : times.input) += time;
    });
  }

  void read_optimizer(Chip& chip, const RankModel& rank, const GpuTask& task) const {
    for_parts(rank, task, [&](const ToldPart& told, double time) {
      if (told.what == ToldPart::What::kEmbedding) chip.of_embedding += time;
      if (told.what == ToldPart::What::kLayers) chip.of_layers += time;
      if (told.what == ToldPart::What::kHead) chip.of_head += time;
    });
  }

  void read_transfers(Chip& chip) const {
    for (const ToldSpan& span : spans_) {
      if (const auto told = told_transfer(span)) {
        (told->gathers ? chip.gathers : chip.reduces).push_back(told->transfer);
      }
    }
  }

  std::optional<Diagnostic> settle() {
    const auto middle = [](std::vector<double>& times) {
      return times.empty() ? 0.0 : upper_median(times);
    };
    step_.halves_known = true;
    for (unsigned s = 0; s < step_.stages.size(); ++s) {
      Stage& stage = step_.stages[s];
      Samples& samples = samples_[s];
      stage.times = {middle(samples.forward), middle(samples.backward), middle(samples.weight)};
      stage.send = middle(samples.send);
      if (samples.forward.empty() || samples.backward.empty()) {
        return not_read(fmt::format("stage {} has no forward or no backward", s),
                        "record a whole training step");
      }
      settle_halves(stage, !samples.weight.empty());
    }
    return std::nullopt;
  }

  /// Gradients of weights apart, where parts tell; the host's part is what others leave.
  void settle_halves(Stage& stage, bool recorded_apart) {
    if (!stage.parts) {
      step_.halves_known = step_.halves_known && recorded_apart;
      return;
    }
    Stage::Parts& parts = *stage.parts;
    const PassTimes work = parts.embedding + parts.layers + parts.head;
    if (!recorded_apart) {
      stage.times.input -= work.weight;
      stage.times.weight = work.weight;
    }
    parts.host = stage.times - work;
    if (!stage.layers) stage.layers = 0;
  }

  struct Samples {
    std::vector<double> forward, backward, weight, send;
  };

  const TraceModel& model_;
  const TraceSet& set_;
  const Recording& rec_;
  Step step_;
  std::map<unsigned, Samples> samples_;  // by virtual stage
  std::vector<ToldSpan> spans_;          // of the rank that is read
};

}  // namespace

std::uint32_t Step::layers() const {
  std::uint32_t sum = 0;
  for (const Stage& stage : stages) {
    if (!stage.layers) return 0;
    sum += *stage.layers;
  }
  return sum;
}

bool is_planned(const TraceSet& set, const Recording& recording) {
  bool any = false;
  for (const RankModel& rank : recording.ranks) {
    for (const GpuTask& task : rank.gpu) {
      if (planned_name(task_name(set, rank, task)).task == PlannedTask::kNone) return false;
      any = true;
    }
  }
  return any;
}

Result<Step> read_step(const TraceModel& model, const TraceSet& set, const Recording& recording) {
  return StepReader(model, set, recording).run();
}

}  // namespace flopcast::whatif::planned
