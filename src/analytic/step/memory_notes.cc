#include "analytic/step/memory_notes.h"

#include <fmt/format.h>

#include <cmath>

#include "analytic/step/memory.h"
#include "base/text/format.h"

namespace flopcast::analytic {
namespace {

/// Of a chip's memory: less is not worth a word.
constexpr double kTold = 0.01;

std::string size_words(Bytes bytes) { return short_bytes(std::llround(bytes.value)); }

std::string holes_note(const StageMemory& memory, bool expandable) {
  return fmt::format(
      "{} ({:.0f} %) are reserved and empty: rounding, and pieces between tensors that no later "
      "tensor of the step fits. How "
      "many depends on sizes, so that a longer sequence or a larger micro-batch may leave fewer{}",
      size_words(memory.allocator), 100 * (memory.allocator / memory.total()),
      expandable ? "" : "; PyTorch's expandable_segments:True leaves fewer, too");
}

/// @param kept_whole the same chip under ZeRO 2
std::string gathered_note(const StageMemory& memory, const StageMemory& kept_whole) {
  const Bytes gathered =
      memory.working + memory.allocator - kept_whole.working - kept_whole.allocator;
  const Bytes more = memory.total() - kept_whole.total();
  return fmt::format(
      "ZeRO 3 gathers weights whole where they run: {} of them, of gradients on their way and of "
      "holes beside them at the "
      "fullest moment. ZeRO 2 would keep {} in all, {} {}",
      size_words(gathered), size_words(kept_whole.total()), size_words(Bytes{std::abs(more.value)}),
      more > Bytes{0} ? "less" : "more");
}

}  // namespace

std::vector<std::string> memory_notes(PlanCosts& costs, const Plan& plan, unsigned fullest,
                                      const StageMemory& memory) {
  std::vector<std::string> notes;
  const Bytes least = memory.total() * kTold;
  if (memory.allocator >= least) {
    notes.push_back(holes_note(memory, costs.state.constants.expandable > 0));
  }
  if (plan.zero == Zero::kWeights) {
    Plan whole = plan;
    whole.zero = Zero::kGradients;
    const StageMemory kept_whole = stage_memory(costs, whole)[fullest];
    const Bytes gathered =
        memory.working + memory.allocator - kept_whole.working - kept_whole.allocator;
    if (gathered >= least) notes.push_back(gathered_note(memory, kept_whole));
  }
  return notes;
}

}  // namespace flopcast::analytic
