#include "flopcast/cost/checked_time.h"

#include "base/numeric/answer_check.h"

namespace flopcast {

std::optional<Diagnostic> check_answer(const KernelTime& answer) {
  AnswerCheck check("the kernel");
  check.band("time", answer.low, answer.time, answer.high);
  check.amount("roofline", answer.roofline.value);
  check.at_least("time", answer.time.value, "its roofline", answer.roofline.value);
  return check.problem();
}

Result<KernelTime> checked_time(const KernelModel& model, const Kernel& kernel) {
  const KernelTime time = model.time(kernel);
  if (auto problem = check_answer(time)) return *std::move(problem);
  return time;
}

}  // namespace flopcast
