#include "whatif/totals/totals.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text/format.h"
#include "flopcast/hardware.h"
#include "whatif/durations/chip.h"

namespace flopcast::whatif {

using namespace totals;

namespace {

/// Products whose shapes are known take at least this share of the time of all products.
constexpr double kLeastShapes = 0.95;
/// Forward, and gradients of inputs and of weights.
constexpr double kPassesOfTraining = 3;
constexpr double kSecondsOfAnHour = 3600;
constexpr double kMillion = 1e6;

/// The GPU that a run's kernels are timed on; nothing where the catalogue does not know it.
std::optional<Chip> chip_of(const ChangedRun& run, const std::vector<Change>& changes) {
  const Catalog& catalog = Catalog::builtin();
  for (const Change& change : changes) {
    if (const auto* on = std::get_if<OnChip>(&change.action)) return on->chip;
  }
  if (!run.device.empty()) return chip_of_device(run.device, catalog);
  for (const replaying::RankModel& rank : run.recording->ranks) {
    for (const Device& device : rank.trace->devices) {
      if (auto chip = chip_of_device(device.name, catalog)) return chip;
    }
  }
  return std::nullopt;
}

/// One side of an answer.
class Side {
 public:
  Side(const ForwardWork& work, const RunShape& recorded, const RunShape& shape,
       const std::optional<Chip>& chip, Time step)
      : work_(work), recorded_(recorded), shape_(shape), chip_(chip), step_(step.seconds()) {}

  void add_tokens() {
    if (!shape_.tokens) return miss("tokens_per_s", shape_.no_tokens + ": give --tokens-per-step");
    out_.tokens_per_step = shape_.tokens;
    out_.tokens_per_s = *shape_.tokens / step_;
  }

  void add_energy() {
    if (!chip_) return miss("energy_j", no_chip());
    if (chip_->power_w <= 0)
      return miss("energy_j", fmt::format("the catalogue has no power of {}", chip_->name));
    out_.energy_j = shape_.gpus * chip_->power_w * step_;
    say(fmt::format("energy: {} at the power limit of {}, {:.0f} W", gpus(), chip_->name,
                    chip_->power_w));
  }

  void add_cost(double usd_per_hour) {
    if (usd_per_hour <= 0) {
      return miss("cost_usd",
                  "what an hour of a GPU costs is not known (the catalogue has prices of chips to "
                  "buy): give --price");
    }
    out_.cost_usd = shape_.gpus * usd_per_hour * step_ / kSecondsOfAnHour;
    if (shape_.tokens) out_.usd_per_million_tokens = *out_.cost_usd / *shape_.tokens * kMillion;
    say(fmt::format("cost: {} at {:.4g} USD an hour", gpus(), usd_per_hour));
  }

  /// Of a training whose model is known.
  void add_estimate(const Model& model, const Training& training) {
    const auto miss_both = [&](const std::string& why) {
      miss("mfu", why);
      miss("memory_bytes", why);
    };
    if (!chip_) return miss_both(no_chip());
    if (recorded_.layers > 0 && std::llround(recorded_.layers) != model.layers()) {
      return miss_both(fmt::format("{} has {} layers, the recording {}", model.name, model.layers(),
                                   recorded_.layers));
    }
    const Result<TrainingEstimate> estimate = estimate_of(model, shape_, training, *chip_);
    if (!estimate) return miss_both(estimate.error().text());
    // An estimate's FLOPs and peak, and this run's time.
    const double passes = work_.trains ? 1 : 1 / kPassesOfTraining;
    add_mfu(estimate->mfu * estimate->step.value / step_ * passes,
            fmt::format("MFU: FLOPs of {}, causal, {}", model.name,
                        work_.trains ? "forward and backward" : "forward alone"));
    if (!work_.trains)
      return miss("memory_bytes", "no backward pass was recorded, and memory is known of training");
    out_.memory_bytes = estimate->memory().total().value;
    say(fmt::format("memory: analytic, of {} in {} with {} and ZeRO {}, no offloading", model.name,
                    name(training.type), name(training.optimizer),
                    static_cast<int>(training.zero)));
  }

  /// Of a run whose model is not known.
  void add_recorded() {
    add_recorded_flops();
    miss("memory_bytes", "a recording does not tell its model: give --model");
  }

  WhatIfTotals take() { return std::move(out_); }

  double flops_ranks = 1;  ///< ranks that the recorded FLOPs are of

 private:
  /// From the shapes of recorded products.
  void add_recorded_flops() {
    if (!chip_) return miss("mfu", no_chip());
    if (work_.mixed) return miss("mfu", "no row tells which kernels are of the forward pass");
    if (work_.told < kLeastShapes) {
      return miss("mfu", fmt::format("shapes are known for {:.0f} % of the time of matrix products "
                                     "and attention: give --model",
                                     100 * work_.told));
    }
    const double peak = chip_->matrix_rate(work_.type).value;
    if (peak <= 0) {
      return miss("mfu", fmt::format("the catalogue has no matrix rate of {} in {}", chip_->name,
                                     name(work_.type)));
    }
    const std::optional<double> forward = forward_flops();
    if (!forward) return miss("mfu", "shapes of other sizes were not recorded: give --model");
    const double flops = *forward * (work_.trains ? kPassesOfTraining : 1);
    add_mfu(
        flops / step_ / peak,
        fmt::format("MFU: {} the forward's recorded shapes, attention between all tokens, {} dense",
                    work_.trains ? "three times" : "of", name(work_.type)));
  }
  /// Kernels may be asked to be faster than their chip, and a recording may be of another one than it names.
  void add_mfu(double mfu, const std::string& of_what) {
    if (mfu > 1) {
      return miss("mfu", fmt::format("the step is shorter than its work takes at the peak of {}",
                                     chip_->name));
    }
    out_.mfu = mfu;
    say(of_what);
  }
  std::string gpus() const {
    return counted(static_cast<std::uint64_t>(std::llround(shape_.gpus)), "GPU");
  }
  static std::string no_chip() { return "the recording names no GPU of the catalogue"; }
  void miss(const std::string& what, std::string why) {
    out_.missing.push_back({what, std::move(why)});
  }
  void say(const std::string& text) { out_.basis += (out_.basis.empty() ? "" : "; ") + text; }

  /// Of one GPU in a step; nothing where shapes became others nobody knows. More tokens are more rows; a longer
  /// sequence is more for attention, too; layers are alike.
  std::optional<double> forward_flops() const {
    if (shape_.hidden > 0 || shape_.ffn > 0 || shape_.heads > 0 || !shape_.more)
      return std::nullopt;
    const auto times = [](double now, double was) { return was > 0 ? now / was : 1; };
    const double longer =
        shape_.sequence && recorded_.sequence ? times(*shape_.sequence, *recorded_.sequence) : 1;
    const double deeper = times(shape_.layers, recorded_.layers) - 1;
    const double linear = work_.linear + work_.linear_of_layers * deeper;
    const double attention = work_.attention + work_.attention_of_layers * deeper;
    const double of_recorded_gpu = *shape_.more * (linear + attention * longer) / flops_ranks;
    return of_recorded_gpu * recorded_.gpus / shape_.gpus;
  }

  const ForwardWork& work_;
  const RunShape& recorded_;
  const RunShape& shape_;
  const std::optional<Chip>& chip_;
  double step_;  // seconds
  WhatIfTotals out_;
};

WhatIfTotals totals_of_side(Side side, const WhatIfFacts& facts, const std::optional<Model>& model,
                            const Training& training, std::size_t recorded_ranks) {
  side.flops_ranks = static_cast<double>(std::max<std::size_t>(recorded_ranks, 1));
  side.add_tokens();
  if (model) {
    side.add_estimate(*model, training);
  } else {
    side.add_recorded();
  }
  side.add_energy();
  side.add_cost(facts.usd_per_chip_hour);
  return side.take();
}

}  // namespace

const TotalsFinder::Told& TotalsFinder::told(const ChangedRun& recorded) const {
  std::call_once(once_, [&] {
    const TraceModel& model = recorded.trace_model();
    Told told{find_forward_work(recorded), {}, {}};
    told.shape = recorded_shape(model, told.work, facts_, recorded.recording->ranks.size());
    told.training = find_training(recorded, told.work.type);
    told_ = std::move(told);
  });
  return *told_;
}

WhatIfTotals TotalsFinder::before(const ChangedRun& recorded, Time step) const {
  if (step <= Time{}) return {};
  const Told& told = this->told(recorded);
  const std::optional<Chip> chip = chip_of(recorded, {});
  return totals_of_side(Side(told.work, told.shape, told.shape, chip, step), facts_, model_,
                        told.training, recorded.recording->ranks.size());
}

WhatIfTotals TotalsFinder::after(const ChangedRun& recorded, const ChangedRun& run,
                                 const std::vector<Change>& changes, Time step) const {
  if (step <= Time{}) return {};
  const Told& told = this->told(recorded);
  const RunShape shape = changed_shape(told.shape, changes);
  const std::optional<Chip> chip = chip_of(run, changes);
  return totals_of_side(Side(told.work, told.shape, shape, chip, step), facts_, model_,
                        told.training, recorded.recording->ranks.size());
}

}  // namespace flopcast::whatif
