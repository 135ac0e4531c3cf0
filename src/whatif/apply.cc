#include "whatif/apply.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "whatif/change/longest.h"
#include "whatif/durations/chip.h"
#include "whatif/durations/cluster.h"
#include "whatif/durations/host.h"
#include "whatif/durations/kernels_from.h"
#include "whatif/durations/loader.h"
#include "whatif/durations/profiler.h"
#include "whatif/durations/scale.h"
#include "whatif/durations/tokens.h"
#include "whatif/order/fuse.h"
#include "whatif/order/overlap.h"
#include "whatif/slowest_rank.h"
#include "whatif/structure/change_structure.h"

namespace flopcast::whatif {
namespace {

bool is_structure(const Change& change) { return tier_of(change) == Tier::kStructure; }

/// Makes a change of order or durations. What the recording lacks goes to run.refused; kUsage where
/// what is named does not exist. Works on what `run` holds, not on what was recorded: an earlier change
/// may have replaced it.
struct Maker {
  using Made = std::optional<Diagnostic>;
  ChangedRun& run;
  const Change& change;

  Made operator()(const AddOverlap& asked) const { return add_overlap(run, change, asked); }
  Made operator()(const RemoveOverlap&) const { return remove_overlap(run, change); }
  Made operator()(const Fuse& asked) const { return add_fusion(run, change, asked); }
  Made operator()(const SetTokens& asked) const { return set_tokens(run, change, asked); }
  Made operator()(const RemoveHost&) const { return remove_host(run, change); }
  Made operator()(const RemoveLaunches&) const { return remove_launches(run, change); }
  Made operator()(const RemoveProfiler&) const { return remove_profiler(run, change); }
  Made operator()(const RemoveDataLoading&) const { return remove_data_loading(run, change); }
  Made operator()(const RemoveStraggler& asked) const {
    return remove_straggler(run, change, asked);
  }
  Made operator()(const KernelsFrom& asked) const { return take_kernels_from(run, change, asked); }
  Made operator()(const OnChip& asked) const { return move_to_chip(run, change, asked); }
  Made operator()(const OnCluster& asked) const { return replace_network(run, change, asked); }
  Made operator()(const Scale& asked) const { return scale(run, change, asked); }
  // Made together, before all others.
  Made operator()(const SetSize&) const { return std::nullopt; }
  Made operator()(const SetSchedule&) const { return std::nullopt; }
  Made operator()(const SetRecompute&) const { return std::nullopt; }
};

/// Where there are any, with the cluster that the new run is on: it may tell how many ranks there are.
std::vector<Change> structure_of(const std::vector<Change>& question) {
  std::vector<Change> structure;
  std::copy_if(question.begin(), question.end(), std::back_inserter(structure), is_structure);
  if (structure.empty()) return structure;
  std::copy_if(
      question.begin(), question.end(), std::back_inserter(structure),
      [](const Change& change) { return std::holds_alternative<OnCluster>(change.action); });
  return structure;
}

/// Two lists with one name change the same.
std::string name_of(const std::vector<Change>& structure) {
  std::string name;
  for (const Change& change : structure) name += change.text + "\n";
  return name;
}

/// Whoever changes or sums durations after this one may do so without looking.
void refuse_too_long(ChangedRun& run, const Change& change) {
  if (!run.refused.empty()) return;
  if (auto why = beyond_any_run(run)) run.refused.push_back(refusal(change, std::move(*why)));
}

Result<ChangedRun> emit_structure(const ChangedRun& recorded, const std::vector<Change>& changes) {
  ChangedRun run = recorded;
  if (auto problem = change_structure(run, recorded, changes)) return *problem;
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
    if (auto problem = std::visit(Maker{*run, change}, change.action)) return *problem;
    if (!is_structure(change)) refuse_too_long(*run, change);
  }
  return run;
}

}  // namespace flopcast::whatif
