#include "analytic/graph/told_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"

namespace flopcast::analytic {
namespace {

/// Puts spans one after the other, none beyond the task that they are in.
class SpanRow {
 public:
  SpanRow(Time start, Time duration) : now_(start), end_(start + duration) {}

  void add(Seconds seconds, std::string text) {
    const Time duration = std::min(on_clock(seconds), end_ - now_);
    if (duration <= Time{}) return;
    spans_.push_back({now_, duration, std::move(text)});
    now_ += duration;
  }
  std::vector<FactSpan> take() { return std::move(spans_); }

 private:
  Time now_, end_;
  std::vector<FactSpan> spans_;
};

std::string layers_text(const StageFacts& stage) { return fmt::format("{} layers", stage.layers); }

/// Which pass of its first microbatch a task is.
enum class FirstPass : std::uint8_t { kNone, kForward, kBackward, kInput, kWeight };
FirstPass first_pass(std::string_view task, const StageFacts& stage, bool chunks) {
  const std::string place = chunks ? fmt::format("m0 c{}", stage.chunk) : "m0";
  if (!task.ends_with(place)) return FirstPass::kNone;
  task.remove_suffix(place.size());
  return task == "forward "           ? FirstPass::kForward
         : task == "backward "        ? FirstPass::kBackward
         : task == "backward input "  ? FirstPass::kInput
         : task == "backward weight " ? FirstPass::kWeight
                                      : FirstPass::kNone;
}

void add_pass(const StageFacts& stage, FirstPass pass, SpanRow& row) {
  if (pass == FirstPass::kForward) {
    row.add(stage.embedding.forward, "embedding");
    row.add(stage.layers_of.forward, layers_text(stage));
    row.add(stage.head.forward, "head");
    return;
  }
  if (pass != FirstPass::kWeight) {
    row.add(stage.head.backward_input, "head");
    row.add(stage.layers_of.backward_input, layers_text(stage));
    row.add(stage.embedding.backward_input, "embedding");
  }
  if (pass != FirstPass::kInput) {
    row.add(stage.head.backward_weight, "weights of head");
    row.add(stage.layers_of.backward_weight, "weights of " + layers_text(stage));
    row.add(stage.embedding.backward_weight, "weights of embedding");
  }
}

std::string transfer_text(std::string_view what, const TransferFacts& transfer) {
  return fmt::format("{}: {} of {} bytes over {}", what, name(transfer.op), transfer.size.value,
                     transfer.ranks);
}

}  // namespace

std::string plan_text(const StepFacts& facts) {
  return fmt::format("plan: tp {}, cp {}, ep {}, dp {}; nodes {}, stragglers {:.9g} %", facts.tp,
                     facts.cp, facts.ep, facts.dp, facts.nodes, facts.stragglers * 100);
}

std::vector<FactSpan> spans_inside(const StepFacts& facts, unsigned chip, std::string_view task,
                                   Time start, Time duration) {
  SpanRow row(start, duration);
  if (task == "optimizer") {
    const auto layers = [&] {
      unsigned sum = 0;
      for (const StageFacts& stage : facts.stages) sum += stage.chip == chip ? stage.layers : 0;
      return sum;
    };
    row.add(facts.chips[chip].embedding, "embedding");
    row.add(facts.chips[chip].layers, fmt::format("{} layers", layers()));
    row.add(facts.chips[chip].head, "head");
    return row.take();
  }
  const bool chunks = facts.stages.size() > facts.chips.size();
  for (const StageFacts& stage : facts.stages) {
    if (stage.chip != chip) continue;
    const FirstPass pass = first_pass(task, stage, chunks);
    if (pass != FirstPass::kNone) add_pass(stage, pass, row);
  }
  return row.take();
}

std::vector<FactSpan> spans_around(const StepFacts& facts, unsigned chip, std::string_view task,
                                   Time start, Time duration) {
  std::vector<FactSpan> spans;
  if (task == "gather weights") {
    for (const TransferFacts& transfer : facts.chips[chip].gathers) {
      const Time whole = on_clock(transfer.time);
      spans.push_back({start, whole, transfer_text("gather", transfer)});
      start += whole;
    }
  }
  if (task == "reduce gradients") {
    Time end = start + duration;
    for (const TransferFacts& transfer : facts.chips[chip].reduces) {
      const Time whole = on_clock(transfer.time);
      spans.push_back({end - whole, whole, transfer_text("reduce", transfer)});
      end -= whole;
    }
  }
  return spans;
}

}  // namespace flopcast::analytic
