#include "live/engine/session/folding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "live/wire/ranks.h"
#include "support/plain_work.h"
#include "support/session_script.h"

namespace flopcast::live {
namespace {

using namespace test;  // scripts

/// All ranks alike.
Folding of_one_kind(std::size_t ranks, const std::vector<std::int32_t>& there) {
  Folding folding;
  folding.alike.assign(ranks, 0);
  folding.there.assign(ranks, false);
  for (const std::int32_t rank : there) folding.there[static_cast<std::size_t>(rank)] = true;
  return folding;
}

TEST(LiveFolding, AbsentGroupsOfTheSameNodesTransferWithThoseThatAreThere) {
  // Data is parallel over two nodes of four; of each node the first and the last rank are there.
  Folding folding = of_one_kind(16, {0, 3, 4, 7});
  folding.families = {{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}}};
  const std::vector<std::vector<std::int32_t>> of_these_nodes{{1, 5}, {2, 6}};
  EXPECT_EQ(images_of(folding, {0, 4}, 4), of_these_nodes);
  EXPECT_TRUE(images_of(folding, {3, 7}, 4).empty());  // the first one brings them
  folding.shares_tiers = true;                         // those of other nodes meet them above
  EXPECT_EQ(images_of(folding, {0, 4}, 4).size(), 6u);
}

TEST(LiveFolding, GroupsOfAnotherKindOrWithinANodeHaveNoImages) {
  Folding folding = of_one_kind(8, {0, 4});
  folding.families = {{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}};
  for (const std::size_t rank : {2u, 6u}) folding.alike[rank] = 1;
  EXPECT_EQ(images_of(folding, {0, 4}, 4).size(), 2u);
  EXPECT_TRUE(images_of(folding, {0, 1}, 4).empty());
}

TEST(LiveFolding, ProcessesAreToldWhoIsThereAndWhoIsAlike) {
  Folding folding = of_one_kind(6, {0, 2, 5});
  folding.alike = {0, 1, 1, 1, 1, 1};
  EXPECT_EQ(text_of(folding), "0,2,5|0|1-5");
  folding.alone = true;
  EXPECT_EQ(text_of(folding), "alone");
}

TEST(LiveFolding, ACommunicatorOfRanksThatTheRunHasNotIsRefused) {
  Record says = call(Act::kMembers, 0, 0);
  says.word[0] = 77;
  for (const std::string_view members : {"0-4", "0-99999999", "x", "3-"}) {
    PlainWork work;
    Session session(work, kTimes);
    session.set_folding(of_one_kind(4, {0, 3}));
    session.add_process(0);
    const auto problem = session.take(0, 0, says, members);
    ASSERT_TRUE(problem) << members;
    EXPECT_NE(problem->text().find("ranks that the run does not have"), std::string::npos);
  }
}

TEST(LiveFolding, ARankThatIsNotInTheCommunicatorItMakesIsRefused) {
  PlainWork work;
  Session session(work, kTimes);
  session.set_folding(of_one_kind(4, {0, 3}));
  session.add_process(3);
  Record says = call(Act::kMembers, 0, 0);
  says.word[0] = 77;
  ASSERT_FALSE(session.take(0, 0, says, "0-3"));
  Record makes = communicator(1, 4);
  makes.number = 1;
  const auto problem = session.take(0, 0, makes, "id");
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->text().find("which is rank 1 of the run"), std::string::npos);
}

/// Whoever is there, and in whatever order they speak.
RC_GTEST_PROP(LiveFoldingProperty, RanksThatAreThereAreToldWhatTheyWouldBeIfAllWere, ()) {
  const auto ranks = *rc::gen::inRange<std::size_t>(2, 9);
  std::vector<Record> calls(*rc::gen::inRange<std::size_t>(0, 30));
  for (Record& record : calls) record = any_call();
  const auto script_of = [&](const std::vector<std::int32_t>& there) {
    Script script;
    for (const std::int32_t rank : there) {
      std::vector<Record>& own = script.emplace_back();
      own.push_back(communicator(static_cast<std::uint64_t>(rank), ranks));
      own.push_back(wait_group());
      own.insert(own.end(), calls.begin(), calls.end());
    }
    return script;
  };
  std::vector<std::int32_t> all, there;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(static_cast<std::int32_t>(rank));
    if (rank == 0 || *rc::gen::inRange(0, 3) == 0) there.push_back(all.back());
  }
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  PlainWork work, folded_work;
  Session whole(work, kTimes), folded(folded_work, kTimes);
  folded.set_folding(of_one_kind(ranks, there));
  const Announced expected = play(script_of(all), whole, random);
  const Announced found = play(script_of(there), folded, random, text_of_ranks(all));
  for (std::size_t one = 0; one < there.size(); ++one)
    RC_ASSERT(found[one] == expected[static_cast<std::size_t>(there[one])]);
}

}  // namespace
}  // namespace flopcast::live
