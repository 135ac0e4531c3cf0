#include "whatif/model/planned_name.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text/numbers.h"

namespace flopcast::whatif {
namespace {

struct PlannedWord {
  std::string_view text;
  PlannedTask task;
  bool inputs_only;
};
constexpr PlannedWord kPlannedPasses[] = {
    {"forward m", PlannedTask::kForward, false},
    {"backward m", PlannedTask::kBackward, false},
    {"backward input m", PlannedTask::kBackward, true},
    {"backward weight m", PlannedTask::kWeights, false},
};
constexpr PlannedWord kPlannedOthers[] = {
    {"optimizer", PlannedTask::kOptimizer, false},
    {"gather weights", PlannedTask::kGather, false},
    {"reduce gradients", PlannedTask::kReduce, false},
    {"fixed costs", PlannedTask::kFixed, false},
};

/// "3" or "3 c1", into microbatch and chunk.
bool read_place(std::string_view text, PlannedName& out) {
  const std::size_t chunk = text.find(" c");
  if (chunk != text.npos) {
    const auto number = parse_whole<std::uint32_t>(text.substr(chunk + 2));
    if (!number) return false;
    out.chunk = *number;
    text = text.substr(0, chunk);
  }
  const auto number = parse_whole<std::uint32_t>(text);
  out.microbatch = number.value_or(0);
  return number.has_value();
}

}  // namespace

PlannedName planned_name(std::string_view name) {
  for (const PlannedWord& word : kPlannedOthers) {
    if (name == word.text) return {word.task, false, false, 0, 0};
  }
  PlannedTask message = PlannedTask::kNone;
  for (const auto& [word, task] : {std::pair{std::string_view("send "), PlannedTask::kSend},
                                   {"receive ", PlannedTask::kReceive}}) {
    if (!name.starts_with(word)) continue;
    message = task;
    name.remove_prefix(word.size());
    break;
  }
  for (const PlannedWord& word : kPlannedPasses) {
    if (!name.starts_with(word.text)) continue;
    PlannedName out{word.task, word.task != PlannedTask::kForward, word.inputs_only, 0, 0};
    if (message != PlannedTask::kNone) out.task = message;
    if (read_place(name.substr(word.text.size()), out)) return out;
  }
  return {};
}

}  // namespace flopcast::whatif
