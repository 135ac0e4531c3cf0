#include "whatif/planned/change_planned.h"

#include <cmath>

#include <fmt/format.h>

#include "whatif/change/made_run.h"
#include "whatif/change/stretch.h"
#include "whatif/model/planned_name.h"
#include "whatif/planned/changed_step.h"
#include "whatif/planned/step_run.h"

namespace flopcast::whatif::planned {
namespace {

/// Passes put together of other layers: the host's part and kernels at other counts were not seen.
constexpr double kPassDoubt = 0.01;
/// The same passes in another order or number, each at its median.
constexpr double kOrderDoubt = 0.005;
/// Transfers of other groups and sizes, by rings; and by a network's model.
constexpr double kRingTransferDoubt = 0.25;
constexpr double kNetworkTransferDoubt = 0.1;
/// More than this off the recorded step, and nothing can be said of other runs.
constexpr double kMostMisread = 0.01;

Time last_end(const replaying::Recording& recording) {
  Time end;
  for (const replaying::RankModel& rank : recording.ranks) {
    for (const replaying::GpuTask& task : rank.gpu) end = std::max(end, task.end);
  }
  return end;
}
Time first_start(const replaying::Recording& recording) {
  Time start = Time::max();
  for (const replaying::RankModel& rank : recording.ranks) {
    for (const replaying::GpuTask& task : rank.gpu) start = std::min(start, task.start);
  }
  return start;
}

/// The recorded step, made anew, must take what it took.
std::optional<Diagnostic> misread(const Step& step, const replaying::Recording& recording) {
  const Result<RecordedStep> same = run_recorded(step, "");
  if (!same) return same.error();
  const double was = (last_end(recording) - first_start(recording)).seconds();
  const double is = last_end(same->recording).seconds();
  if (std::abs(is - was) <= kMostMisread * was) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, "structure",
                    fmt::format("put together again without any change, the step takes {:.3f} ms "
                                "where {:.3f} ms were recorded: what it does is not understood",
                                is * 1e3, was * 1e3),
                    "see `flopcast trace model`"};
}

enum class TaskSort : std::uint8_t { kPass, kMessage, kTransfer, kOther };
TaskSort sort_of(const TraceSet& set, const replaying::RankModel& rank, std::uint32_t task) {
  switch (planned_name(set.strings[rank.trace->events.name[rank.gpu[task].row]]).task) {
    case PlannedTask::kForward:
    case PlannedTask::kBackward:
    case PlannedTask::kWeights:
      return TaskSort::kPass;
    case PlannedTask::kSend:
    case PlannedTask::kReceive:
      return TaskSort::kMessage;
    case PlannedTask::kGather:
    case PlannedTask::kReduce:
      return TaskSort::kTransfer;
    default:
      return TaskSort::kOther;
  }
}

/// Tells what a changed run rests on.
class PlannedEvidence {
 public:
  PlannedEvidence(const ChangedStep& changed, ChangedRun& run) : changed_(changed), run_(run) {}

  void tell() {
    for (std::uint32_t r = 0; r < run_.recording->ranks.size(); ++r) {
      for (std::uint32_t t = 0; t < run_.recording->ranks[r].gpu.size(); ++t) count(r, t);
    }
    if (changed_.other_passes) {
      note("passes of other layers, by the layers of those recorded", "modelled", TaskSort::kPass);
      doubt("passes of other layers", kPassDoubt, TaskSort::kPass);
    } else {
      note("passes, as recorded", "copied", TaskSort::kPass);
      doubt("passes put together to another step", kOrderDoubt, TaskSort::kPass);
    }
    note("messages between stages, as recorded", "copied", TaskSort::kMessage);
    if (changed_.other_transfers) {
      const bool by_ring = changed_.transfers_by.find("ring") != std::string::npos;
      note("gradients and weights sent once a step, " + changed_.transfers_by, "modelled",
           TaskSort::kTransfer);
      doubt("what is sent once a step", by_ring ? kRingTransferDoubt : kNetworkTransferDoubt,
            TaskSort::kTransfer);
    } else {
      note("gradients and weights sent once a step, as recorded", "copied", TaskSort::kTransfer);
    }
    for (const std::string& what : changed_.assumed) {
      run_.notes.push_back({what, "assumed", 0, 0});
    }
  }

 private:
  struct Sum {
    std::uint64_t tasks = 0;
    double seconds = 0;
  };

  void count(std::uint32_t r, std::uint32_t t) {
    const replaying::RankModel& rank = run_.recording->ranks[r];
    Sum& sum = sums_[static_cast<std::size_t>(sort_of(*run_.set, rank, t))];
    ++sum.tasks;
    sum.seconds += gpu_time(run_.durations.ranks[r], t).seconds();
    all_ += gpu_time(run_.durations.ranks[r], t).seconds();
  }

  void note(std::string what, const char* how, TaskSort sort) {
    const Sum& sum = sums_[static_cast<std::size_t>(sort)];
    if (sum.tasks == 0) return;
    run_.notes.push_back({std::move(what), how, sum.tasks, all_ > 0 ? sum.seconds / all_ : 0});
  }

  void doubt(const char* what, double part, TaskSort sort) {
    Doubt doubt{what, run_.durations, run_.durations};
    for (std::uint32_t r = 0; r < run_.recording->ranks.size(); ++r) {
      const replaying::RankModel& rank = run_.recording->ranks[r];
      for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
        if (sort_of(*run_.set, rank, t) != sort) continue;
        for (auto* side : {&doubt.low, &doubt.high}) {
          const double k = side == &doubt.low ? 1 - part : 1 + part;
          replaying::Durations::Rank& times = side->ranks[r];
          set_gpu_time(times, rank.gpu[t], t, stretched(gpu_time(times, t), k));
        }
      }
    }
    run_.doubts.push_back(std::move(doubt));
  }

  const ChangedStep& changed_;
  ChangedRun& run_;
  Sum sums_[4];  // by TaskSort
  double all_ = 0;
};

}  // namespace

Result<ChangedRun> change_planned(const TraceModel& model, const ChangedRun& recorded,
                                  const StructureChange& change) {
  const Result<Step>& step = recorded.found->step.of([&]() -> Result<Step> {
    Result<Step> read = read_step(model, *recorded.set, *recorded.recording);
    if (!read) return read;
    if (auto problem = misread(*read, *recorded.recording)) return *problem;
    return read;
  });
  if (!step) return step.error();
  const Result<ChangedStep> changed = change_step(*step, change);
  if (!changed) return changed.error();
  Result<RecordedStep> made = run_recorded(changed->step, recorded.set->label);
  if (!made) return made.error();
  ChangedRun run = make_run(std::move(made->set), std::move(made->recording), 0);
  run.emitted = true;
  // Its dependencies are all there are: nothing is late for any other reason.
  run.typical = nullptr;
  run.lags = std::make_shared<const replaying::Lags>(
      measure_lags(*run.recording, *run.bindings, LagMode::kZero));
  run.network = change.on;
  PlannedEvidence(*changed, run).tell();
  return run;
}

}  // namespace flopcast::whatif::planned
