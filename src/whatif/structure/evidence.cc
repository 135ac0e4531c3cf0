#include "whatif/structure/evidence.h"
#include "whatif/structure/plan/transfers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flopcast::whatif::structure {
namespace {

/// What a run put together from medians and typical lags is off by where the answer is known: the
/// made-up runs of tests/python/test_whatif_generator.py, where no kernel is modelled.
constexpr double kPutTogether = 0.005;
/// Kernels of other sizes in proportion to their work; by the fits of the chip they ran on.
constexpr double kProportional = 0.15;
constexpr double kFitted = 0.08;

class Evidence {
 public:
  Evidence(const FinishedRun& run, EmittedRun& out)
      : run_(run), rec_(*run.recording), out_(out), durations_(recorded_durations(rec_)) {
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      for (std::uint32_t t = 0; t < rec_.ranks[r].gpu.size(); ++t) {
        Sum& sum = sums_[changed(r, t) ? 1 : 0][is_transfer(r, t) ? 1 : 0];
        ++sum.tasks;
        sum.time += durations_.ranks[r].transfer[t];
        all_ += durations_.ranks[r].transfer[t];
      }
    }
  }

  /// @param off of a run put together again without any change
  void note_times(const Library& library, const Sizes& sizes, double off) {
    std::uint32_t copies = 0;
    for (const Stretch& stretch : library.stretches) copies = std::max(copies, stretch.copies);
    note(fmt::format("kernels, each drawn from the copies of its place (up to {})", copies),
         "copied", sums_[0][0]);
    note("transfers of collectives, drawn from those recorded", "copied", sums_[0][1]);
    const std::string how =
        sizes.chip.empty() ? "in proportion to their work" : "by the fits of " + sizes.chip;
    note("kernels of another size, " + how, "modelled", sums_[1][0]);
    note("transfers of another group or size, by the bytes on a ring's links", "modelled",
         sums_[1][1]);
    doubt(
        "runs put together from stretches", std::max(kPutTogether, std::abs(off)),
        [](auto, auto) { return true; }, true);
    if (sums_[1][1].tasks > 0) {
      doubt(
          "transfers of another group or size", kRingDoubt,
          [&](auto r, auto t) { return changed(r, t) && is_transfer(r, t); }, false);
    }
    if (sums_[1][0].tasks > 0) {
      doubt(
          "kernels of another size", sizes.chip.empty() ? kProportional : kFitted,
          [&](auto r, auto t) { return changed(r, t) && !is_transfer(r, t); }, false);
    }
  }

  void assume(std::string what) { out_.notes.push_back({std::move(what), "assumed", 0, 0}); }

 private:
  struct Sum {
    std::uint64_t tasks = 0;
    Time time;
  };

  bool changed(std::uint32_t r, std::uint32_t t) const { return run_.changed[r][t] != 0; }
  bool is_transfer(std::uint32_t r, std::uint32_t t) const {
    return rec_.ranks[r].gpu[t].collective != replaying::kNoIndex;
  }

  void note(std::string what, const char* how, const Sum& sum) {
    if (sum.tasks == 0) return;
    const double share = all_ > Time{} ? sum.time.seconds() / all_.seconds() : 0;
    out_.notes.push_back({std::move(what), how, sum.tasks, share});
  }

  template <typename Which>
  void doubt(const char* what, double part, Which&& which, bool host) {
    EmittedRun::Doubt doubt{what, durations_, durations_};
    const auto stretch = [&](replaying::Durations& durations, double factor) {
      for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
        replaying::Durations::Rank& rank = durations.ranks[r];
        for (std::uint32_t t = 0; t < rank.transfer.size(); ++t) {
          if (!which(r, t)) continue;
          rank.transfer[t] = times(rank.transfer[t], factor);
          if (!is_transfer(r, t)) rank.gpu[t] = rank.transfer[t];
        }
        if (!host) continue;
        for (auto* lists : {&rank.piece, &rank.gap}) {
          for (auto& list : *lists) {
            for (Time& time : list) time = times(time, factor);
          }
        }
      }
    };
    stretch(doubt.low, 1 - part);
    stretch(doubt.high, 1 + part);
    out_.doubts.push_back(std::move(doubt));
  }

  const FinishedRun& run_;
  const replaying::Recording& rec_;
  EmittedRun& out_;
  replaying::Durations durations_;
  Sum sums_[2][2];  // [modelled][transfer]
  Time all_;
};

}  // namespace

void add_evidence(const Library& library, const NewPlan& plan, const Sizes& sizes,
                  const StructureChange& change, const FinishedRun& run, double off,
                  EmittedRun& out) {
  Evidence evidence(run, out);
  evidence.note_times(library, sizes, off);
  if (!sizes.assumed.empty()) evidence.assume(sizes.assumed);
  if (plan.grid.size() > plan.before.size()) {
    evidence.assume(change.scale_only
                        ? "new ranks are copies of recorded ones"
                        : "new ranks are as quick as recorded ones that are no stragglers, and "
                          "differ from each other as copies do");
  }
  const bool deeper =
      plan.grid.degree(Dimension::kPipeline) != plan.before.degree(Dimension::kPipeline);
  if (deeper) {
    evidence.assume(
        fmt::format("layers are dealt evenly to {} stages; embedding stays with the "
                    "first, head with the last",
                    plan.parts()));
  }
  if (plan.schedule.chips > 1 && !plan.recorded_order) {
    evidence.assume(plan.style == MessageStyle::kExchange
                        ? "stages exchange with one neighbour at a time, both ways in one kernel"
                        : "stages send without waiting, and receive before the pass that needs it");
  }
}

}  // namespace flopcast::whatif::structure
