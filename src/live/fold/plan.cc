#include "live/fold/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include "live/wire/ranks.h"

namespace flopcast::live {
namespace {

/// The group of a family that a rank is in; null if in none.
const std::vector<std::int32_t>* group_of(const Family& family, std::int32_t rank) {
  for (const std::vector<std::int32_t>& group : family.groups) {
    if (std::find(group.begin(), group.end(), rank) != group.end()) return &group;
  }
  return nullptr;
}

/// Groups that follow one another, of one size and purpose, of which no two share a rank.
std::vector<Family> families_of(const std::vector<KnownGroup>& groups, std::uint32_t ranks) {
  std::vector<Family> families;
  std::set<std::int32_t> taken;
  for (const KnownGroup& group : groups) {
    const auto is_of_run = [ranks](std::int32_t rank) {
      return static_cast<std::uint32_t>(rank) < ranks;
    };
    if (!std::all_of(group.ranks.begin(), group.ranks.end(), is_of_run)) continue;
    const bool shares = std::any_of(group.ranks.begin(), group.ranks.end(),
                                    [&](std::int32_t rank) { return taken.contains(rank); });
    const bool goes_on = !families.empty() && !shares && families.back().what == group.what &&
                         families.back().groups.front().size() == group.ranks.size();
    if (!goes_on) {
      families.push_back({{}, group.what});
      taken.clear();
    }
    families.back().groups.push_back(group.ranks);
    taken.insert(group.ranks.begin(), group.ranks.end());
  }
  return families;
}

/// Names that programs give to the dimension along which data is parallel: "mesh_dp_shard", "DATA_PARALLEL_GROUP".
bool is_of_data(std::string what) {
  std::transform(what.begin(), what.end(), what.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kNames[] = {"dp", "data", "fsdp", "shard", "replicate"};
  return what.empty() || std::any_of(std::begin(kNames), std::end(kNames), [&](auto name) {
           return what.find(name) != std::string::npos;
         });
}

/// Numbers with which ranks can be put together.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  std::uint32_t find(std::uint32_t one) {
    while (parent_[one] != one) one = parent_[one] = parent_[parent_[one]];
    return one;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

void join_all(Sets& sets, const Family& family, bool but_first, bool but_last) {
  for (const std::vector<std::int32_t>& group : family.groups) {
    for (std::size_t i = but_first ? 2 : 1; i + (but_last ? 1 : 0) < group.size(); ++i)
      sets.join(static_cast<std::uint32_t>(group[i - 1]), static_cast<std::uint32_t>(group[i]));
  }
}

/// Whether its groups put ranks together that do not already belong together.
bool adds_to(Sets& sets, const Family& family) {
  return std::any_of(family.groups.begin(), family.groups.end(), [&](const auto& group) {
    const std::uint32_t first = sets.find(static_cast<std::uint32_t>(group.front()));
    return std::any_of(group.begin(), group.end(), [&](std::int32_t rank) {
      return sets.find(static_cast<std::uint32_t>(rank)) != first;
    });
  });
}

/// Null: not among them.
const Scouted* of(const std::vector<Scouted>& witnesses, std::int32_t rank) {
  const auto found = std::find_if(witnesses.begin(), witnesses.end(),
                                  [rank](const Scouted& one) { return one.rank == rank; });
  return found == witnesses.end() ? nullptr : &*found;
}

/// One that failed for want of others shows nothing: the run itself will.
bool agree(const Scouted* a, const Scouted* b) {
  return !a || !b || a->stepped != b->stepped || a->calls == b->calls;
}

}  // namespace

std::vector<LiveAlike> alike_in(const Folding& folding) {
  std::vector<std::vector<std::int32_t>> alike, there;
  for (std::size_t rank = 0; rank < folding.alike.size(); ++rank) {
    const std::size_t number = folding.alike[rank];
    alike.resize(std::max(alike.size(), number + 1));
    there.resize(alike.size());
    alike[number].push_back(static_cast<std::int32_t>(rank));
    if (folding.there[rank]) there[number].push_back(static_cast<std::int32_t>(rank));
  }
  std::vector<LiveAlike> all;
  for (std::size_t number = 0; number < alike.size(); ++number)
    all.push_back({text_of_ranks(alike[number]), text_of_ranks(there[number])});
  return all;
}

Result<FoldPlan> FoldPlan::make(std::uint32_t ranks, const Scouted& leader, Fold fold) {
  FoldPlan plan(ranks);
  plan.families_ = families_of(leader.groups, ranks);
  const auto size_of = [&](std::size_t family) {
    return plan.families_[family].groups.front().size();
  };
  std::vector<std::size_t> by_size(plan.families_.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return size_of(a) < size_of(b); });
  // Whom the first rank sends to is in the smallest group with it. If that is all ranks, nobody stands for another.
  for (const std::int32_t peer : leader.peers) {
    const auto with_peer = [&](std::size_t family) {
      const auto* const group = group_of(plan.families_[family], leader.rank);
      return group && std::find(group->begin(), group->end(), peer) != group->end();
    };
    const auto found = std::find_if(by_size.begin(), by_size.end(), with_peer);
    if (found == by_size.end()) {
      return Diagnostic{ErrorCode::kNoAnswer, "--fold",
                        fmt::format("rank {} sends to rank {} or receives from it, and no group of "
                                    "the program tells which other ranks do so",
                                    leader.rank, peer),
                        "run it with --fold off"};
    }
    if (std::find(plan.apart_.begin(), plan.apart_.end(), *found) == plan.apart_.end())
      plan.apart_.push_back(*found);
  }
  for (const std::size_t family : by_size) {
    const auto* const group = group_of(plan.families_[family], leader.rank);
    // One that ended over what others should have sent it has not shown what it calls with the others: the run itself shows it.
    const bool may_call = !leader.stepped || (group && leader.together.contains(*group));
    if (!group || group->size() < 2 || !may_call) continue;
    const bool is_only = plan.families_.size() == 1;  // what else should ranks be for?
    if (fold == Fold::kData && !is_only && !is_of_data(plan.families_[family].what)) continue;
    plan.together_.push_back({family});
  }
  return plan;
}

/// Whether one of its groups has ranks that do different things.
bool FoldPlan::mixes(const Family& family) const {
  for (const std::size_t apart : apart_) {
    std::vector<std::size_t> group_number(ranks_, 0);  // 0: in none
    std::size_t number = 0;
    for (const std::vector<std::int32_t>& group : families_[apart].groups) {
      ++number;
      for (const std::int32_t rank : group) group_number[static_cast<std::size_t>(rank)] = number;
    }
    for (const std::vector<std::int32_t>& own : family.groups) {
      std::set<std::size_t> met;
      for (const std::int32_t rank : own) {
        const std::size_t of = group_number[static_cast<std::size_t>(rank)];
        if (of != 0 && !met.insert(of).second) return true;
      }
    }
  }
  return false;
}

const std::vector<std::int32_t>& FoldPlan::leaders_group(std::size_t family) const {
  return *group_of(families_[family], 0);
}

/// Families of which each puts ranks together that those before it do not.
std::vector<FoldPlan::Together> FoldPlan::folded() const {
  Sets sets(ranks_);
  std::vector<Together> folded;
  for (const Together& one : together_) {
    const Family& family = families_[one.family];
    if (mixes(family) || !adds_to(sets, family)) continue;
    join_all(sets, family, false, false);
    folded.push_back(one);
  }
  return folded;
}

std::vector<std::int32_t> FoldPlan::witnesses() const {
  std::set<std::int32_t> witnesses;
  for (const Together& one : folded()) {
    const std::vector<std::int32_t>& group = leaders_group(one.family);
    witnesses.insert({group.back(), group[group.size() / 2]});
  }
  return {witnesses.begin(), witnesses.end()};
}

std::vector<std::int32_t> FoldPlan::more_witnesses(const std::vector<Scouted>& witnesses) const {
  std::set<std::int32_t> more;
  for (const Together& one : folded()) {
    const std::vector<std::int32_t>& group = leaders_group(one.family);
    const std::size_t size = group.size();
    if (size < 4 || agree(of(witnesses, group.back()), of(witnesses, group[size / 2]))) continue;
    if (!of(witnesses, group[size - 2])) more.insert(group[size - 2]);
  }
  return {more.begin(), more.end()};
}

void FoldPlan::judge(const Scouted& leader, const std::vector<Scouted>& witnesses) {
  for (const Together& one : folded()) {
    const std::vector<std::int32_t>& group = leaders_group(one.family);
    const std::size_t size = group.size();
    const Scouted* const middle = of(witnesses, group[size / 2]);
    const bool first_is_like = agree(&leader, middle);
    const bool last_is_like = agree(of(witnesses, group.back()), middle);
    if (first_is_like && last_is_like) continue;
    const auto judged =
        std::find_if(together_.begin(), together_.end(),
                     [&](const Together& other) { return other.family == one.family; });
    const Scouted* const before_last = of(witnesses, group[size - 2]);
    const bool others_are = last_is_like || (before_last && agree(before_last, middle));
    if (size > 2 && others_are) {
      judged->but_first = !first_is_like;
      judged->but_last = !last_is_like;
    } else {
      if (!unlike_) unlike_ = group.back();
      apart_.push_back(one.family);
      together_.erase(judged);
    }
  }
}

/// By rank, the number of its kind.
std::vector<std::uint32_t> FoldPlan::alike() const {
  Sets sets(ranks_);
  for (const Together& one : folded())
    join_all(sets, families_[one.family], one.but_first, one.but_last);
  std::vector<std::uint32_t> numbers(ranks_), by_first(ranks_, ranks_);
  std::uint32_t kinds = 0;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    std::uint32_t& number = by_first[sets.find(rank)];
    if (number == ranks_) number = kinds++;
    numbers[rank] = number;
  }
  return numbers;
}

/// These come, all to whom they send, and the first of each of their groups: it names the group's communicator.
void FoldPlan::bring(Folding& folding, std::vector<std::int32_t> ranks) const {
  while (!ranks.empty()) {
    const std::int32_t rank = ranks.back();
    ranks.pop_back();
    if (folding.is_there(rank)) continue;
    folding.there[static_cast<std::size_t>(rank)] = true;
    for (const std::size_t family : apart_) {
      if (const auto* const group = group_of(families_[family], rank))
        ranks.insert(ranks.end(), group->begin(), group->end());
    }
    for (const Family& family : families_) {
      if (const auto* const group = group_of(family, rank)) ranks.push_back(group->front());
    }
  }
}

/// The first rank and its witnesses, and two of each kind that stands for others (of the first rank's, two besides it).
Folding FoldPlan::folding() const {
  Folding folding;
  folding.alike = alike();
  folding.there.assign(ranks_, false);
  bring(folding, {0});
  for (const Together& one : folded()) bring(folding, {leaders_group(one.family).back()});
  std::vector<std::vector<std::int32_t>> kinds;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    kinds.resize(std::max<std::size_t>(kinds.size(), folding.alike[rank] + 1));
    kinds[folding.alike[rank]].push_back(static_cast<std::int32_t>(rank));
  }
  for (const std::vector<std::int32_t>& kind : kinds) {
    const std::size_t wanted = std::min<std::size_t>(kind.size(), kind.front() == 0 ? 3 : 2);
    for (const std::size_t candidate : {kind.size() - 1, kind.size() / 2, std::size_t{0}}) {
      const auto come = std::count_if(kind.begin(), kind.end(),
                                      [&](std::int32_t rank) { return folding.is_there(rank); });
      if (static_cast<std::size_t>(come) < wanted) bring(folding, {kind[candidate]});
    }
  }
  const bool all =
      std::all_of(folding.there.begin(), folding.there.end(), [](bool is) { return is; });
  if (all) return Folding();
  for (const Family& family : families_) folding.families.push_back(family.groups);
  return folding;
}

}  // namespace flopcast::live
