#include "whatif/durations/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numeric/rounded.h"
#include "flopcast/machine.h"
#include "whatif/change/stretch.h"
#include "whatif/durations/activations.h"
#include "whatif/durations/chip.h"
#include "whatif/durations/recorded_work.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// How far the growth of a kernel may be off: of what it grows by.
constexpr double kGrowthDoubt = 0.05;
/// Copies below this are a few numbers, not data.
constexpr std::int64_t kFewBytes = 4096;

/// Less of the GPU's work than this under operators and annotations: nothing tells what it is.
constexpr double kLeastTold = 0.5;

bool tells_passes(const Recording& recording, const std::vector<RankWork>& ranks) {
  double all = 0, told = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<GpuTask>& gpu = recording.ranks[r].gpu;
    for (const GpuTask& task : gpu) all += (task.end - task.start).seconds();
    for (const Work& work : ranks[r].program.works) {
      if (work.op_row == kNoIndex && work.pass != Pass::kBackward && work.pass != Pass::kOptimizer)
        continue;
      told += (gpu[work.task].end - gpu[work.task].start).seconds();
    }
  }
  return told >= kLeastTold * all;
}

/// Whether so many tokens, or all but one (a shift by one), are counted here.
bool counts(std::int64_t size, std::int64_t tokens) { return size == tokens || size == tokens - 1; }

/// Whether a tensor has a row for each token: one of its dimensions, or some in a row together.
bool grows(const OperatorInput& input, std::int64_t tokens) {
  const std::vector<std::int64_t>& size = input.size;
  for (std::size_t i = 0; i < size.size(); ++i) {
    std::int64_t together = 1;
    for (std::size_t j = i; j < size.size() && size[j] > 0 && together <= tokens; ++j) {
      together *= size[j];
      if (counts(together, tokens)) return true;
    }
    if (size[i] > tokens && size[i] % tokens == 0) return true;
  }
  return false;
}

/// What each kernel of a rank takes with so many times the tokens.
class Growth {
 public:
  Growth(const ChangedRun& run, std::uint32_t r, const TaskOperators& operators, double factor,
         std::int64_t tokens, const KernelModel* model)
      : run_(run),
        r_(r),
        rank_(run.recording->ranks[r]),
        factor_(factor),
        tokens_(tokens),
        model_(model),
        operators_(operators) {
    for (const Device& device : rank_.trace->devices) sms_ = std::max(sms_, device.sm_count);
    for (std::uint32_t t = 0; t < rank_.gpu.size(); ++t) {
      if (is_kernel(t) && !rank_.gpu[t].communication) least_ = std::min(least_, time(t));
    }
  }

  /// How many times as long; 1 for what no token adds to.
  double of(const Work& work) const {
    if (work.pass != Pass::kForward && work.pass != Pass::kBackward) return 1;
    if (!is_kernel(work.task)) return of_copy(work);
    const RecordedKernel kernel = operators_.kernel(work.task);
    if (!may_grow(kernel)) return 1;
    if (work.kind == KernelKind::kGemm && tokens_ != 0) {
      if (const auto ratio = of_gemm(kernel)) return *ratio;
    }
    if (work.kind == KernelKind::kGemm || work.kind == KernelKind::kAttention) return factor_;
    return of_rows(work);
  }

 private:
  bool is_kernel(std::uint32_t t) const {
    return rank_.trace->events.category[rank_.gpu[t].row] == Category::kKernel;
  }
  Time time(std::uint32_t t) const { return gpu_time(run_.durations.ranks[r_], t); }

  /// False where shapes tell that no input has a row for each token.
  bool may_grow(const RecordedKernel& kernel) const {
    if (tokens_ == 0 || kernel.inputs.empty()) return true;
    return std::any_of(kernel.inputs.begin(), kernel.inputs.end(),
                       [&](const OperatorInput& input) { return grows(input, tokens_); });
  }

  std::optional<double> of_gemm(const RecordedKernel& kernel) const {
    std::optional<Gemm> gemm = gemm_of(kernel);
    if (model_ == nullptr || !gemm) return std::nullopt;
    const double before = model_->time(*gemm).time.value;
    for (std::int64_t* size : {&gemm->m, &gemm->n, &gemm->k, &gemm->batch}) {
      if (counts(*size, tokens_)) *size = rounded_whole(static_cast<double>(*size) * factor_);
    }
    const double after = model_->time(*gemm).time.value;
    return before > 0 ? std::optional(after / before) : std::nullopt;
  }

  /// What no kernel falls below stays; and an SM that has no block yet takes one in the same time.
  double of_rows(const Work& work) const {
    const Events& events = rank_.trace->events;
    const std::uint32_t detail = events.detail[rank_.gpu[work.task].row];
    const double recorded = time(work.task).seconds();
    if (recorded <= 0) return 1;
    double grown = factor_;
    const double blocks =
        detail == kNoDetail ? 0 : static_cast<double>(rank_.trace->kernels[detail].blocks);
    if (sms_ > 0 && blocks >= 2) {
      const double room = static_cast<double>(sms_);
      grown = std::max(blocks * factor_, room) / std::max(blocks, room);
    }
    const double fixed = std::min(recorded, least_.seconds());
    return (fixed + (recorded - fixed) * grown) / recorded;
  }

  double of_copy(const Work& work) const {
    const std::uint32_t detail = rank_.trace->events.detail[rank_.gpu[work.task].row];
    const std::int64_t bytes = detail == kNoDetail ? 0 : rank_.trace->copies[detail].bytes;
    if (bytes < kFewBytes) return 1;
    return may_grow(operators_.kernel(work.task)) ? factor_ : 1;
  }

  const ChangedRun& run_;
  std::uint32_t r_;
  const RankModel& rank_;
  double factor_;
  std::int64_t tokens_;
  const KernelModel* model_;
  const TaskOperators& operators_;
  std::int32_t sms_ = 0;
  Time least_ = Time::max();
};

/// The chip that the recording names, priced; nothing where it is not known.
std::optional<Machine> machine_of(const Recording& recording) {
  for (const RankModel& rank : recording.ranks) {
    for (const Device& device : rank.trace->devices) {
      const Catalog& catalog = Catalog::builtin();
      const std::optional<Chip> chip = chip_of_device(device.name, catalog);
      if (!chip) continue;
      Result<Machine> machine = Machine::of(*chip, catalog);
      return machine ? std::optional(std::move(*machine)) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// How much was changed.
struct Grown {
  std::uint64_t kernels = 0, collectives = 0;
};

/// Lets a rank's work grow, by `growth`; its doubts, too.
Grown grow(ChangedRun& run, std::uint32_t r, const RankWork& work_of_rank, const Growth& growth,
           double factor, Doubt& doubt) {
  const RankModel& rank = run.recording->ranks[r];
  const Activations activations(rank, work_of_rank.program);
  std::vector<double> by(rank.gpu.size(), 1);  // all asked before any is changed
  for (const Work& work : work_of_rank.program.works) {
    if (!rank.gpu[work.task].communication) {
      by[work.task] = growth.of(work);
    } else if (activations.carried_by(work)) {
      by[work.task] = factor;
    }
  }
  Grown grown;
  for (std::uint32_t t = 0; t < by.size(); ++t) {
    if (by[t] == 1) continue;
    ++(rank.gpu[t].communication ? grown.collectives : grown.kernels);
    const Time now = gpu_time(run.durations.ranks[r], t);
    const auto set = [&](Durations& durations, double k) {
      set_gpu_time(durations.ranks[r], rank.gpu[t], t, stretched(now, k));
    };
    set(doubt.low, 1 + (by[t] - 1) * (1 - kGrowthDoubt));
    set(doubt.high, 1 + (by[t] - 1) * (1 + kGrowthDoubt));
    set(run.durations, by[t]);
  }
  return grown;
}

}  // namespace

std::optional<Diagnostic> set_tokens(ChangedRun& run, const Change& change,
                                     const SetTokens& asked) {
  const std::vector<RankWork> work = find_work(*run.set, *run.recording);
  if (!tells_passes(*run.recording, work)) {
    run.refused.push_back(
        refusal(change,
                "neither operators nor annotations tell forward and backward from the "
                "optimizer; record with the profiler's CPU activity, without CUDA graphs"));
    return std::nullopt;
  }
  const double factor = asked.factor;
  if (factor == 1) return std::nullopt;
  const std::int64_t tokens = count_tokens(run, work);
  const std::optional<Machine> machine = machine_of(*run.recording);
  Doubt doubt{"how kernels grow with tokens", run.durations, run.durations};
  std::vector<Grown> of_rank(work.size());
  parallel_for(work.size(), 0, [&](std::size_t i) {
    const auto r = static_cast<std::uint32_t>(i);
    const Growth growth(run, r, work[i].operators, factor, tokens,
                        machine ? &machine->kernels() : nullptr);
    of_rank[i] = grow(run, r, work[i], growth, factor, doubt);
  });
  run.doubts.push_back(std::move(doubt));
  Grown all;
  for (const Grown& grown : of_rank) {
    all.kernels += grown.kernels;
    all.collectives += grown.collectives;
  }
  std::string what =
      fmt::format("forward and backward kernels times {}: no shapes tell more", factor);
  if (tokens != 0) {
    what = fmt::format("kernels on {} tokens, now on {}", tokens,
                       rounded_whole(static_cast<double>(tokens) * factor));
  }
  run.notes.push_back({std::move(what), "modelled", all.kernels, 0});
  if (all.collectives > 0)
    run.notes.push_back(
        {"collectives of activations, by their bytes", "modelled", all.collectives, 0});
  return std::nullopt;
}

}  // namespace flopcast::whatif
