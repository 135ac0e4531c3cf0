// Which ranks of a run are alike, as far as it shows in the groups that the program makes and in what its first rank
// does in them; and which of them have to be there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flopcast/live.h"
#include "live/engine/session/folding.h"
#include "live/fold/scout.h"

namespace flopcast::live {

/// Groups that a program makes by one rule, as all of one dimension of a mesh: no rank is in two of them.
struct Family {
  std::vector<std::vector<std::int32_t>> groups;
  std::string what;  ///< what for, as the program says it
};

/// As a run's report has it.
std::vector<LiveAlike> alike_in(const Folding& folding);

/// Ranks that send to each other alone are not alike; those that do everything together are.
class FoldPlan {
 public:
  /// @param leader the first rank, as it ran alone. Errors: it sends to a rank, and no group tells who else does so
  static Result<FoldPlan> make(std::uint32_t ranks, const Scouted& leader, Fold fold);

  /// Members of the first rank's groups that show whether those of a family are alike: of each the last and one in the
  /// middle.
  std::vector<std::int32_t> witnesses() const;
  /// Who besides has to be seen: where the last one alone may be unlike, the one before it.
  std::vector<std::int32_t> more_witnesses(const std::vector<Scouted>& witnesses) const;
  /// What those called. Where all of a group are alike but the first (it prints, or reads for the others) or the last (it has the
  /// rest of what is split), those stand for themselves; else all are there.
  void judge(const Scouted& leader, const std::vector<Scouted>& witnesses);
  /// The first of those that called other things than the first rank, for which a family is not folded.
  std::optional<std::int32_t> unlike() const { return unlike_; }
  /// Who is there, and who is like whom. Empty if nobody stands for another.
  Folding folding() const;

 private:
  explicit FoldPlan(std::uint32_t ranks) : ranks_(ranks) {}
  struct Together {
    std::size_t family = 0;
    bool but_first = false, but_last = false;  // of each group that one is like no other
  };
  bool mixes(const Family& family) const;
  const std::vector<std::int32_t>& leaders_group(std::size_t family) const;
  std::vector<std::uint32_t> alike() const;
  std::vector<Together> folded() const;
  void bring(Folding& folding, std::vector<std::int32_t> ranks) const;

  std::uint32_t ranks_;
  std::vector<Family> families_;
  std::vector<std::size_t> apart_;  // families whose ranks do different things
  std::vector<Together> together_;  // those that may be alike, the smaller groups first
  std::optional<std::int32_t> unlike_;
};

}  // namespace flopcast::live
