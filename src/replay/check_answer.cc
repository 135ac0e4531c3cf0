#include "replay/check_answer.h"

#include <algorithm>

#include "base/numeric/answer_check.h"

namespace flopcast::replaying {
namespace {

/// Ends lie on the clock of the recording: what is long is how far they are apart.
void check_step(AnswerCheck& check, const StepResult& step) {
  check.time(step.name, Seconds{step.measured_end.seconds() - step.measured_start.seconds()});
  check.time(step.name, Seconds{step.replayed_end.seconds() - step.replayed_start.seconds()});
  if (step.measured_gpu) check.time(step.name, *step.measured_gpu);
  if (step.replayed_gpu) check.time(step.name, *step.replayed_gpu);
  check.time("error of starts", Seconds{step.start_error_median_s});
}

}  // namespace

std::optional<Diagnostic> check_answer(const Replay& replay) {
  AnswerCheck check("the replay");
  for (const std::vector<StepResult>& steps : replay.steps) {
    for (const StepResult& step : steps) check_step(check, step);
  }
  for (const CollectiveInstance& collective : replay.collectives) {
    for (const CollectiveInstance::Member& member : collective.members) {
      check.time("a replayed wait", member.replayed_wait);
      // A model that leaves dependencies out may end one before its last rank has come.
      check.time("a replayed transfer", std::max(member.replayed_transfer, Time{}));
    }
  }
  if (replay.sensitivity) {
    check.time("GPU step", replay.sensitivity->gpu_step);
    for (const WorkSensitivity& part : replay.sensitivity->parts) check.time(part.part, part.work);
  }
  return check.problem();
}

}  // namespace flopcast::replaying
