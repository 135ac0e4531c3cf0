#include "whatif/apply.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "whatif/change/longest.h"
#include "whatif/knobs.h"

namespace flopcast::whatif {
namespace {

bool is_structure(const Change& change) {
  return find_knob(change.verb, change.name)->tier == Tier::kStructure;
}

/// Where there are any, with the cluster that the new run is on: it may tell how many ranks there are.
std::vector<Change> structure_of(const std::vector<Change>& question) {
  std::vector<Change> structure;
  std::copy_if(question.begin(), question.end(), std::back_inserter(structure), is_structure);
  if (structure.empty()) return structure;
  std::copy_if(question.begin(), question.end(), std::back_inserter(structure),
               [](const Change& change) { return change.verb == Verb::kOn; });
  return structure;
}

/// Two lists with one name change the same.
std::string name_of(const std::vector<Change>& structure) {
  std::string name;
  for (const Change& change : structure)
    name += change.text + (change.scale_only ? " alone\n" : "\n");
  return name;
}

/// Whoever changes or sums durations after this one may do so without looking.
void refuse_too_long(ChangedRun& run, const Change& change) {
  if (!run.refused.empty()) return;
  if (auto why = beyond_any_run(run)) run.refused.push_back(refusal(change, std::move(*why)));
}

Result<ChangedRun> emit_structure(const ChangedRun& recorded, const std::vector<Change>& changes) {
  ChangedRun run = recorded;
  if (auto problem = kEmit(run, recorded, changes)) return *problem;
  refuse_too_long(run, changes.front());
  return run;
}

}  // namespace

void Emissions::prepare(const std::vector<std::vector<Change>>& questions, unsigned threads) {
  std::map<std::string, std::vector<Change>> alone, shared;
  for (const std::vector<Change>& question : questions) {
    std::vector<Change> structure = structure_of(question);
    const std::string name = name_of(structure);
    if (structure.empty() || runs_.contains(name)) continue;
    (alone.contains(name) ? shared : alone).emplace(name, std::move(structure));
  }
  const std::vector<std::pair<std::string, std::vector<Change>>> list(shared.begin(), shared.end());
  std::vector<std::optional<Result<ChangedRun>>> made(list.size());
  parallel_for(list.size(), threads,
               [&](std::size_t i) { made[i] = emit_structure(recorded_, list[i].second); });
  for (std::size_t i = 0; i < list.size(); ++i) runs_.emplace(list[i].first, std::move(*made[i]));
}

const Result<ChangedRun>* Emissions::of(const std::vector<Change>& question) const {
  const auto found = runs_.find(name_of(structure_of(question)));
  return found == runs_.end() ? nullptr : &found->second;
}

Result<ChangedRun> apply(const ChangedRun& recorded, const std::vector<Change>& changes,
                         const Emissions* emissions) {
  const std::vector<Change> structure = structure_of(changes);
  const Result<ChangedRun>* emitted = emissions == nullptr ? nullptr : emissions->of(changes);
  Result<ChangedRun> run = emitted != nullptr  ? *emitted
                           : structure.empty() ? Result<ChangedRun>(recorded)
                                               : emit_structure(recorded, structure);
  if (!run) return run;
  for (const Change& change : changes) {
    if (!run->refused.empty()) break;
    if (is_structure(change)) continue;
    const Apply make = find_knob(change.verb, change.name)->apply;
    if (auto problem = make(*run, recorded, change)) return *problem;
    refuse_too_long(*run, change);
  }
  return run;
}

}  // namespace flopcast::whatif
