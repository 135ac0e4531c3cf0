// Floor 2: pipeline schedules laid out to be timed over and over, with other stages each time.
#pragma once

#include <memory>
#include <span>

#include "flopcast/parallel/schedule.h"

namespace flopcast {

/// Two schedules of one kind on as many chips and chunks, of which the second is longer. In which order actions can be run
/// does not depend on what they take, so it is found once; and what the lists of both begin with is run once for both.
/// Not thread-safe; what it answers does not depend on what was asked before.
class ScheduleProgram {
 public:
  /// @pre neither has a schedule_problem
  ScheduleProgram(const Schedule& schedule, const Schedule& longer);
  /// One schedule alone.
  explicit ScheduleProgram(const Schedule& schedule);
  ScheduleProgram(ScheduleProgram&&) noexcept;
  ScheduleProgram& operator=(ScheduleProgram&&) noexcept;
  ~ScheduleProgram();

  struct Times {
    PipelineTime schedule, longer;  ///< of one alone: the same
  };
  /// What pipeline_time says of each, to the last bit. @param stages one per virtual stage.
  Times run(std::span<const StageTime> stages);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
