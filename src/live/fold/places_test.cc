#include "live/fold/places.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "support/mesh_program.h"

namespace flopcast::live {
namespace {

using namespace test;  // foldings

/// All ranks alike, in groups of so many that follow one another.
Folding in_groups_of(std::size_t size, std::size_t ranks) {
  Folding folding = of_one_kind(ranks, {0});
  folding.families.emplace_back();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank % size == 0) folding.families[0].emplace_back();
    folding.families[0].back().push_back(static_cast<std::int32_t>(rank));
  }
  return folding;
}

std::string unlike(const Folding& folding, std::string_view cluster, std::uint32_t node = 8) {
  const Result<Cluster> made = Catalog::builtin().cluster(cluster);
  EXPECT_TRUE(made) << cluster;
  return made ? unlike_places(folding, *made, node) : std::string();
}

TEST(LiveFoldPlaces, GroupsThatFillNodesLieAlike) {
  for (const std::size_t size : {2u, 4u, 8u, 16u})
    EXPECT_EQ(unlike(in_groups_of(size, 32), "4 x dgx-h100"), "") << size;
}

TEST(LiveFoldPlaces, OneThatIsOnTwoNodesIsNotLikeOneThatIsOnOne) {
  EXPECT_EQ(unlike(in_groups_of(6, 24), "3 x dgx-h100"),
            "ranks 0-5 and 6-11 do not lie alike on parts of 8 chips");
  EXPECT_EQ(unlike(in_groups_of(6, 6), "1 x dgx-h100"), "");
  // What the program sees of nodes counts as well.
  EXPECT_EQ(unlike(in_groups_of(4, 8), "1 x dgx-h100", 6),
            "ranks 0-3 and 4-7 do not lie alike on parts of 6 chips");
}

TEST(LiveFoldPlaces, GroupsOfDifferentKindsMayLieDifferently) {
  Folding folding = in_groups_of(6, 12);
  for (std::size_t rank = 6; rank < 12; ++rank) folding.alike[rank] = 1;
  EXPECT_EQ(unlike(folding, "2 x dgx-h100"), "");
}

TEST(LiveFoldPlaces, AboveNodesPartsCountThatAreJoinedByLess) {
  const Folding folding = in_groups_of(16, 48);
  EXPECT_EQ(unlike(folding, "8 x dgx-h100"), "");
  const Result<Cluster> thin =
      Catalog::builtin().cluster("8 x dgx-h100, fabric.oversubscription 4");
  ASSERT_TRUE(thin) << thin.error().text();
  EXPECT_TRUE(shares_tiers(*thin));
  Cluster leaves = *thin;
  leaves.levels.back().shape = {3, 3};  // of 24 chips
  EXPECT_EQ(unlike_places(folding, leaves, 8),
            "ranks 0-15 and 16-31 do not lie alike on parts of 24 chips");
  leaves.levels.back().oversubscription = 1;
  EXPECT_EQ(unlike_places(folding, leaves, 8), "");
}

}  // namespace
}  // namespace flopcast::live
