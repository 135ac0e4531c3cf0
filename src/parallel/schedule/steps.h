// A schedule laid out as steps: every action knows the one of another chip that it waits for, in an order that can be run
// straight through.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "flopcast/parallel/schedule.h"

namespace flopcast::parallel {

inline constexpr unsigned kNoStage = ~0U;

/// What a chip does at one time, whatever the microbatch.
struct Pass {
  unsigned chip = 0;
  std::vector<PipelineAction> actions;  ///< one or two; none: the next step's first action waits
  unsigned input = kNoStage;            ///< its input comes by the send of this stage
  unsigned waits = kNoStage;            ///< for the send of this stage its chip may wait
};

struct Step {
  std::uint32_t source = 0;  ///< the step whose end it waits for; 0: none
  std::uint32_t pass = 0;
};

/// Steps of one chip, one after the other.
struct Burst {
  std::uint32_t chip = 0, steps = 0;
};

struct Part {
  std::vector<Step> steps;
  std::vector<Burst> bursts;
};

/// Lays out schedules that begin alike. Each chip's list is followed until an input is missing, and goes on when the chip that
/// makes it has.
class StepWriter {
 public:
  using First = std::array<Step, 2>;  ///< twice the same where it is one
  /// What has been laid out.
  struct Progress {
    /// Steps that made an output, by direction, stage and microbatch; 0: none yet.
    std::vector<std::uint32_t> made;
    std::vector<std::size_t> next;  ///< of each chip's list
    std::vector<First> first;       ///< the steps of each chip's first pass
    std::uint32_t steps = 0;        ///< the number of the last one; the first is 1
  };

  /// @param most microbatches of any schedule to come
  StepWriter(const Schedule& like, std::int64_t most);

  /// Goes on with this schedule, each chip's list up to its limit. @pre no schedule_problem
  Part add(const Schedule& schedule, const std::vector<std::size_t>& limits);

  const Progress& progress() const { return done_; }
  void go_back(Progress to) { done_ = std::move(to); }
  /// All that steps refer to.
  std::vector<Pass> passes() && { return std::move(passes_); }

 private:
  /// What an action waits for.
  struct Input {
    bool there = false;
    std::uint32_t source = 0;
    unsigned stage = kNoStage;
  };

  std::uint32_t& made(bool backward, unsigned stage, std::uint32_t microbatch);
  Input input_of(unsigned chip, const PipelineAction& action);
  std::uint32_t pass_of(unsigned chip, std::span<const PipelineAction> actions, unsigned input,
                        unsigned waits);
  std::uint32_t put(std::uint32_t source, std::uint32_t pass);
  bool advance(unsigned chip);
  void finish(unsigned chip, const PipelineAction& action, std::uint32_t step);

  std::size_t most_;
  Progress done_;
  std::vector<Pass> passes_;
  std::map<std::tuple<unsigned, std::uint64_t, unsigned, unsigned>, std::uint32_t> numbers_;
  const Schedule* schedule_ = nullptr;
  Part part_;
  std::vector<unsigned> woken_;  ///< chips that have got an input
};

}  // namespace flopcast::parallel
