#include "whatif/apply.h"

#include "whatif/knobs.h"

namespace flopcast::whatif {
namespace {

bool is_structure(const Change& change) {
  return find_knob(change.verb, change.name)->tier == Tier::kStructure;
}

bool differ(const replaying::Durations& a, const replaying::Durations& b) {
  if (a.ranks.size() != b.ranks.size()) return true;
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    const auto& x = a.ranks[r];
    const auto& y = b.ranks[r];
    if (x.gpu != y.gpu || x.transfer != y.transfer || x.piece != y.piece || x.gap != y.gap ||
        x.after_sync != y.after_sync)
      return true;
  }
  return false;
}

}  // namespace

Result<ChangedRun> apply(const ChangedRun& recorded, const std::vector<Change>& changes) {
  ChangedRun run = recorded;
  std::vector<Change> structure, rest;
  for (const Change& change : changes) (is_structure(change) ? structure : rest).push_back(change);
  if (!structure.empty()) {
    if (auto problem = kEmit(run, recorded, structure)) return *problem;
  }
  for (const Change& change : rest) {
    if (!run.refused.empty()) break;
    const Apply make = find_knob(change.verb, change.name)->apply;
    if (auto problem = make(run, recorded, change)) return *problem;
  }
  run.moved = run.moved || run.emitted || differ(run.durations, recorded.durations);
  return run;
}

}  // namespace flopcast::whatif
