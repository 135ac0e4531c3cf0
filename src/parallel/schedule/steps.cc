// Schedules laid out as steps.
#include "parallel/schedule/steps.h"

#include <algorithm>

#include "parallel/schedule/sends.h"

namespace flopcast::parallel {

StepWriter::StepWriter(const Schedule& like, std::int64_t most)
    : most_(static_cast<std::size_t>(most)),
      done_{std::vector<std::uint32_t>(2 * most_ * like.stages()),
            std::vector<std::size_t>(like.chips), std::vector<First>(like.chips), 0} {}

Part StepWriter::add(const Schedule& schedule, const std::vector<std::size_t>& limits) {
  schedule_ = &schedule;
  part_ = {};
  std::vector<unsigned> ready;
  for (unsigned chip = 0; chip < schedule.chips; ++chip) ready.push_back(chip);
  while (!ready.empty()) {
    const unsigned chip = ready.back();
    ready.pop_back();
    const std::size_t before = part_.steps.size();
    woken_.clear();
    while (done_.next[chip] < limits[chip] && advance(chip)) {
    }
    const std::size_t steps = part_.steps.size() - before;
    if (steps > 0) part_.bursts.push_back({chip, static_cast<std::uint32_t>(steps)});
    for (const unsigned other : woken_) {
      if (std::ranges::find(ready, other) == ready.end()) ready.push_back(other);
    }
  }
  return std::move(part_);
}

std::uint32_t& StepWriter::made(bool backward, unsigned stage, std::uint32_t microbatch) {
  return done_.made[((backward ? schedule_->stages() : 0) + stage) * most_ + microbatch];
}

/// What the action waits for that another chip makes. What its own makes has been made before, by the order of its list.
StepWriter::Input StepWriter::input_of(unsigned chip, const PipelineAction& action) {
  const unsigned stage = schedule_->stage_of(chip, action.chunk);
  const bool forward = action.op == PipelineOp::kForward;
  const bool own = action.op == PipelineOp::kBackwardWeight ||
                   (forward ? stage == 0 : stage + 1 == schedule_->stages());
  if (own) return {true, 0, kNoStage};
  const unsigned from = forward ? stage - 1 : stage + 1;
  const std::uint32_t source = made(!forward, from, action.microbatch);
  if (source == 0) return {};
  if (schedule_->chip_of(from) == chip) return {true, 0, kNoStage};
  return {true, source, std::min(from, stage)};
}

std::uint32_t StepWriter::pass_of(unsigned chip, std::span<const PipelineAction> actions,
                                  unsigned input, unsigned waits) {
  std::uint64_t kind = actions.size();
  for (const PipelineAction& action : actions) {
    kind = kind << 24 | std::uint64_t{action.chunk} << 8 | static_cast<std::uint64_t>(action.op);
  }
  const auto [known, is_new] = numbers_.emplace(std::tuple(chip, kind, input, waits),
                                                static_cast<std::uint32_t>(passes_.size()));
  if (is_new) passes_.push_back({chip, {actions.begin(), actions.end()}, input, waits});
  return known->second;
}

std::uint32_t StepWriter::put(std::uint32_t source, std::uint32_t pass) {
  part_.steps.push_back({source, pass});
  return ++done_.steps;
}

/// The chip's next action, or two that go together. False where it must wait.
bool StepWriter::advance(unsigned chip) {
  const std::vector<PipelineAction>& list = schedule_->actions[chip];
  const std::size_t at = done_.next[chip];
  const std::size_t count = list[at].with_next && at + 1 < list.size() ? 2 : 1;
  const std::span actions = std::span(list).subspan(at, count);
  std::array<Input, 2> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs[i] = input_of(chip, actions[i]);
    if (!inputs[i].there) return false;
  }
  if (count == 2) put(inputs[0].source, pass_of(chip, {}, inputs[0].stage, kNoStage));
  const Input& last = inputs[count - 1];
  const unsigned waits = sent_before_next(*schedule_, chip, at + count - 1)
                             ? sends_by(*schedule_, chip, actions.back())
                             : kNoStage;
  const std::uint32_t step = put(last.source, pass_of(chip, actions, last.stage, waits));
  if (at == 0) done_.first[chip] = {part_.steps[part_.steps.size() - count], part_.steps.back()};
  done_.next[chip] += count;
  for (const PipelineAction& action : actions) finish(chip, action, step);
  return true;
}

void StepWriter::finish(unsigned chip, const PipelineAction& action, std::uint32_t step) {
  const unsigned stage = schedule_->stage_of(chip, action.chunk);
  if (action.op == PipelineOp::kBackwardWeight) return;
  const bool forward = action.op == PipelineOp::kForward;
  made(!forward, stage, action.microbatch) = step;
  if (forward ? stage + 1 < schedule_->stages() : stage > 0) {
    const unsigned to = schedule_->chip_of(forward ? stage + 1 : stage - 1);
    if (to != chip && std::ranges::find(woken_, to) == woken_.end()) woken_.push_back(to);
  }
}

}  // namespace flopcast::parallel
