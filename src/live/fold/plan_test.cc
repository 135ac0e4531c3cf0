#include "live/fold/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "support/session_script.h"

namespace flopcast::live {
namespace {

using Ranks = std::vector<std::int32_t>;

Ranks all_of(std::int32_t count) {
  Ranks ranks(static_cast<std::size_t>(count));
  for (std::int32_t rank = 0; rank < count; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  return ranks;
}

/// What a program tells of a mesh of stages, data and tensors (the latter next to each other), and does with it.
struct Mesh {
  std::int32_t pipeline = 1, data = 1, tensor = 1;
  std::int32_t ranks() const { return pipeline * data * tensor; }

  Scouted seen_by(std::int32_t rank) const {
    Scouted scouted;
    scouted.rank = rank;
    scouted.stepped = true;
    scouted.groups.push_back({all_of(ranks()), "default_pg"});
    const std::int32_t stage = data * tensor;
    tell(scouted, "mesh_pp", pipeline, stage, pipeline > 1 ? Use::kApart : Use::kNone);
    tell(scouted, "mesh_dp", data, tensor, Use::kTogether);
    tell(scouted, "mesh_tp", tensor, 1, Use::kTogether);
    return scouted;
  }

 private:
  enum class Use { kNone, kTogether, kApart };
  void tell(Scouted& scouted, const char* what, std::int32_t size, std::int32_t step,
            Use use) const {
    for (std::int32_t first = 0; first < ranks(); ++first) {
      if (first / step % size != 0) continue;
      Ranks group;
      for (std::int32_t i = 0; i < size; ++i) group.push_back(first + i * step);
      scouted.groups.push_back({group, what});
      const auto own = std::find(group.begin(), group.end(), scouted.rank);
      if (own == group.end()) continue;
      if (use == Use::kTogether) scouted.together.insert(group);
      if (use == Use::kApart && own + 1 != group.end()) scouted.peers.insert(own[1]);
    }
  }
};

/// As a run would: its witnesses call what the first rank does.
FoldPlan planned(const Mesh& mesh, Fold fold = Fold::kAuto) {
  const Scouted leader = mesh.seen_by(0);
  Result<FoldPlan> plan = FoldPlan::make(static_cast<std::uint32_t>(mesh.ranks()), leader, fold);
  EXPECT_TRUE(plan);
  std::vector<Scouted> witnesses;
  for (const std::int32_t rank : plan->witnesses()) witnesses.push_back(mesh.seen_by(rank));
  plan->judge(leader, witnesses);
  return *plan;
}

Ranks there_in(const Folding& folding) {
  Ranks there;
  for (std::size_t rank = 0; rank < folding.there.size(); ++rank) {
    if (folding.there[rank]) there.push_back(static_cast<std::int32_t>(rank));
  }
  return there;
}

TEST(LiveFoldPlan, OfParallelDataTheFirstTheLastAndOneBetweenAreThere) {
  const Folding folding = planned({1, 16, 1}).folding();
  EXPECT_EQ(there_in(folding), Ranks({0, 8, 15}));
  EXPECT_EQ(std::set<std::uint32_t>(folding.alike.begin(), folding.alike.end()).size(), 1u);
}

TEST(LiveFoldPlan, StagesAreNotAlikeAndEachSendsToOneThatIsThere) {
  const Mesh mesh{4, 8, 2};
  const Folding folding = planned(mesh).folding();
  EXPECT_EQ(std::set<std::uint32_t>(folding.alike.begin(), folding.alike.end()).size(), 4u);
  for (const std::int32_t rank : there_in(folding)) {
    for (std::int32_t stage = 0; stage < 4; ++stage)
      EXPECT_TRUE(folding.is_there(rank % 16 + stage * 16)) << rank;
  }
  EXPECT_LE(there_in(folding).size(), 16u);
}

TEST(LiveFoldPlan, WhoEndsForWantOfASenderMayBeLikeThoseThatItSendsNothing) {
  const Mesh mesh{4, 8, 2};
  const auto ended = [&mesh](std::int32_t rank) {
    Scouted scouted = mesh.seen_by(rank);
    scouted.stepped = false;
    scouted.together.clear();
    return scouted;
  };
  Result<FoldPlan> plan = FoldPlan::make(64, ended(0), Fold::kAuto);
  ASSERT_TRUE(plan);
  std::vector<Scouted> witnesses;
  for (const std::int32_t rank : plan->witnesses()) witnesses.push_back(ended(rank));
  plan->judge(ended(0), witnesses);
  EXPECT_EQ(plan->folding().alike, planned(mesh).folding().alike);
}

TEST(LiveFoldPlan, OnlyDataIsFoldedIfThatIsWanted) {
  const Folding folding = planned({1, 8, 2}, Fold::kData).folding();
  EXPECT_NE(folding.alike[0], folding.alike[1]);  // tensors
  EXPECT_EQ(folding.alike[0], folding.alike[2]);  // data
}

TEST(LiveFoldPlan, RanksThatKnowOnlyTheGroupOfAllAreReplicas) {
  Scouted leader;
  leader.stepped = true;
  leader.groups.push_back({all_of(8), "default_pg"});
  leader.together.insert(all_of(8));
  Result<FoldPlan> plan = FoldPlan::make(8, leader, Fold::kData);
  ASSERT_TRUE(plan);
  std::vector<Scouted> witnesses(plan->witnesses().size(), leader);
  for (std::size_t one = 0; one < witnesses.size(); ++one)
    witnesses[one].rank = plan->witnesses()[one];
  plan->judge(leader, witnesses);
  EXPECT_EQ(there_in(plan->folding()), Ranks({0, 4, 7}));
}

TEST(LiveFoldPlan, WhereWitnessesCallOtherThingsAllAreThere) {
  const Mesh mesh{1, 8, 1};
  Scouted leader = mesh.seen_by(0);
  Result<FoldPlan> plan = FoldPlan::make(8, leader, Fold::kAuto);
  ASSERT_TRUE(plan);
  std::vector<Scouted> witnesses;
  for (const std::int32_t rank : plan->witnesses()) {
    witnesses.push_back(mesh.seen_by(rank));
    witnesses.back().calls[0].push_back({Act::kKernel, 1, static_cast<std::uint64_t>(rank), 0});
  }
  plan->judge(leader, witnesses);
  EXPECT_FALSE(plan->folding().folds());
  EXPECT_EQ(plan->unlike(), 7);
}

TEST(LiveFoldPlan, TheFirstCallInWhichRanksDifferIsNamed) {
  Trails trails;
  const auto mark = [&trails](const char* name) { return *trails.mark(test::kernel(0, 1), name); };
  Scouted one, other;
  other.rank = 7;
  one.calls[0] = {mark("a"), mark("b")};
  other.calls[0] = {mark("a"), mark("x")};
  EXPECT_EQ(difference(one, other, trails), "call 2 is b in rank 0 and x in rank 7");
  other.calls[0].pop_back();
  EXPECT_EQ(difference(one, other, trails), "call 2 is b in rank 0, and rank 7 makes none");
  one.calls[0].pop_back();
  other.calls[4] = {mark("y")};
  EXPECT_EQ(difference(one, other, trails), "call 1 is y in rank 7, and rank 0 makes none");
  one.calls[4] = other.calls[4];
  EXPECT_EQ(difference(one, other, trails), "");
}

TEST(LiveFoldPlan, AFirstRankThatDoesMoreStandsForItself) {
  const Mesh mesh{1, 8, 1};
  Scouted leader = mesh.seen_by(0);
  leader.calls[0].push_back({Act::kCopy, 1, 8, 0});
  Result<FoldPlan> plan = FoldPlan::make(8, leader, Fold::kAuto);
  ASSERT_TRUE(plan);
  std::vector<Scouted> witnesses;
  for (const std::int32_t rank : plan->witnesses()) witnesses.push_back(mesh.seen_by(rank));
  plan->judge(leader, witnesses);
  const Folding folding = plan->folding();
  EXPECT_NE(folding.alike[0], folding.alike[1]);
  EXPECT_EQ(folding.alike[1], folding.alike[7]);
}

/// Of eight, as many as say so have something that the others have not.
Folding planned_where_the_last_differ(std::int32_t odd, bool first_prints = false) {
  const auto seen_by = [odd, first_prints](std::int32_t rank) {
    Scouted scouted = Mesh{1, 8, 1}.seen_by(rank);
    if (rank == 0 && first_prints) scouted.calls[0].push_back({Act::kCopy, 1, 4, 0});
    if (rank >= 8 - odd) scouted.calls[0].push_back({Act::kCopy, 1, 8, 0});
    return scouted;
  };
  Result<FoldPlan> plan = FoldPlan::make(8, seen_by(0), Fold::kAuto);
  EXPECT_TRUE(plan);
  std::vector<Scouted> witnesses;
  for (const std::int32_t rank : plan->witnesses()) witnesses.push_back(seen_by(rank));
  const Ranks more = plan->more_witnesses(witnesses);
  EXPECT_EQ(more, odd == 0 || odd > 3 ? Ranks() : Ranks({6}));
  for (const std::int32_t rank : more) witnesses.push_back(seen_by(rank));
  plan->judge(seen_by(0), witnesses);
  return plan->folding();
}

TEST(LiveFoldPlan, ALastRankThatHasTheRestStandsForItself) {
  const Folding folding = planned_where_the_last_differ(1);
  EXPECT_EQ(folding.alike[0], folding.alike[6]);
  EXPECT_NE(folding.alike[0], folding.alike[7]);
  EXPECT_EQ(there_in(folding), Ranks({0, 3, 6, 7}));
}

TEST(LiveFoldPlan, AFirstAndALastRankMayBothBeUnlikeTheOthers) {
  const Folding folding = planned_where_the_last_differ(1, true);
  EXPECT_EQ(folding.alike, std::vector<std::uint32_t>({0, 1, 1, 1, 1, 1, 1, 2}));
  EXPECT_LT(there_in(folding).size(), 6u);
}

TEST(LiveFoldPlan, WhereMoreThanTheLastDifferAllAreThere) {
  for (const std::int32_t odd : {2, 3}) EXPECT_FALSE(planned_where_the_last_differ(odd).folds());
}

TEST(LiveFoldPlan, WhereOnlyTheGroupOfAllTellsWhoSendsToWhomAllAreThere) {
  Scouted leader = Mesh{1, 8, 1}.seen_by(0);
  leader.peers.insert(5);
  const Result<FoldPlan> plan = FoldPlan::make(8, leader, Fold::kAuto);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->folding().folds());
}

TEST(LiveFoldPlan, ASendThatNoGroupTellsOfIsRefusedByItsRanks) {
  Scouted leader;
  leader.peers.insert(5);
  const Result<FoldPlan> plan = FoldPlan::make(8, leader, Fold::kAuto);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().text().find("rank 0 sends to rank 5"), std::string::npos);
  EXPECT_NE(plan.error().text().find("--fold off"), std::string::npos);
}

RC_GTEST_PROP(LiveFoldPlanProperty, EachKindHasTwoThatShowWhetherItIsOne, ()) {
  const auto degree = [] { return *rc::gen::inRange(1, 6); };
  const Mesh mesh{degree(), degree(), degree()};
  const Folding folding = planned(mesh).folding();
  if (!folding.folds()) return;
  RC_ASSERT(folding.is_there(0));
  std::vector<int> kind(folding.alike.size(), 0), there(kind);
  for (std::size_t rank = 0; rank < folding.alike.size(); ++rank) {
    RC_ASSERT(folding.alike[rank] ==
              folding.alike[rank / static_cast<std::size_t>(mesh.data * mesh.tensor) *
                            static_cast<std::size_t>(mesh.data * mesh.tensor)]);
    ++kind[folding.alike[rank]];
    there[folding.alike[rank]] += folding.there[rank] ? 1 : 0;
  }
  for (std::size_t number = 0; number < kind.size(); ++number)
    RC_ASSERT(there[number] >= std::min(kind[number], 2));
}

}  // namespace
}  // namespace flopcast::live
