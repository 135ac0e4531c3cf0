#include "analytic/step/check_answer.h"

#include <vector>

#include "base/numeric/answer_check.h"

namespace flopcast::analytic {
namespace {

void check_memory(AnswerCheck& check, const StageMemory& memory) {
  visit_memory(memory, [&](std::string_view name, Bytes bytes) { check.amount(name, bytes); });
}

void check_stage(AnswerCheck& check, const StageEstimate& stage, Seconds pipeline_end) {
  check.time("forward", stage.forward);
  check.time("backward", stage.backward);
  check.time("start", stage.start);
  check.at_least("end", stage.end.value, "what its stage is busy", stage.busy.value);
  check.at_least("time", pipeline_end.value, "the end of a stage", stage.end.value);
  check_memory(check, stage.memory);
}

}  // namespace

std::optional<Diagnostic> check_answer(const TrainingEstimate& estimate) {
  AnswerCheck check("the step");
  check.band("time", estimate.low, estimate.step, estimate.high);
  std::vector<double> parts;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    check.time(name(static_cast<TimePart>(i)), estimate.parts[i]);
    parts.push_back(estimate.parts[i].value);
  }
  check.sum("time", parts, estimate.step.value);
  for (const StageEstimate& stage : estimate.stages) check_stage(check, stage, estimate.step);
  check.amount("capacity", estimate.capacity);
  check.share("odds of fitting", estimate.fit_odds);
  check.amount("tokens per second", estimate.tokens_per_second);
  check.share("MFU", estimate.mfu);
  check.share("HFU", estimate.hfu);
  check.amount("energy", estimate.energy_j);
  check.amount("cost", estimate.cost_usd);
  for (const double share : estimate.rests_on) check.share("share by basis", share);
  return check.problem();
}

std::optional<Diagnostic> check_answer(Seconds step, Bytes memory) {
  AnswerCheck check("a plan");
  check.time("time", step);
  check.amount("memory", memory);
  return check.problem();
}

}  // namespace flopcast::analytic
