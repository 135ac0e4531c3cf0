#include "whatif/apply.h"

#include "whatif/knobs.h"

namespace flopcast::whatif {
namespace {

bool is_structure(const Change& change) {
  return find_knob(change.verb, change.name)->tier == Tier::kStructure;
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
  return run;
}

}  // namespace flopcast::whatif
