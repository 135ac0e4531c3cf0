// Changes made, one after the other.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Runs of changed structure that several questions begin with: each is emitted once.
class Emissions {
 public:
  explicit Emissions(const ChangedRun& recorded) : recorded_(recorded) {}
  /// Emits what at least two of these questions begin with: what one alone needs is not kept.
  void prepare(const std::vector<std::vector<Change>>& questions, unsigned threads);
  /// The run with the question's changes of structure alone; null if it is not kept.
  const Result<ChangedRun>* of(const std::vector<Change>& question) const;
  std::size_t size() const { return runs_.size(); }  ///< how many were emitted

 private:
  const ChangedRun& recorded_;
  std::map<std::string, Result<ChangedRun>> runs_;  ///< by the changes of structure, as told
};

/// A copy of `recorded` with the changes made, in the order given: structure first, all at once.
/// Ends with the first change that is refused. @param emissions what is kept; else, and
/// where it is null, structure is emitted here
Result<ChangedRun> apply(const ChangedRun& recorded, const std::vector<Change>& changes,
                         const Emissions* emissions = nullptr);

}  // namespace flopcast::whatif
