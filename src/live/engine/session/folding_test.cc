#include "live/engine/session/folding.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "live/wire/ranks.h"
#include "support/mesh_program.h"
#include "support/plain_work.h"
#include "support/session_script.h"

namespace flopcast::live {
namespace {

using namespace test;  // scripts

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

TEST(LiveFolding, AGroupOfWhichNobodyIsThereBringsNoOthers) {
  Folding folding = of_one_kind(6, {0, 5});
  folding.alike = {0, 0, 0, 0, 1, 1};
  folding.families = {{{1, 4}}};
  EXPECT_TRUE(images_of(folding, {1, 4}, 2).empty());
}

TEST(LiveFolding, ProcessesAreToldWhoIsThereAndWhoIsAlike) {
  Folding folding = of_one_kind(6, {0, 2, 5});
  folding.alike = {0, 1, 1, 1, 1, 1};
  EXPECT_EQ(text_of(folding), "0,2,5|0|1-5");
  folding.alone = true;
  EXPECT_EQ(text_of(folding), "alone");
}

TEST(LiveFolding, WhatProcessesAreToldIsReadBack) {
  const std::optional<Folding> folding = folding_of("0,2,5|0|1-5", 6);
  ASSERT_TRUE(folding);
  EXPECT_EQ(text_of(*folding), "0,2,5|0|1-5");
  EXPECT_EQ(folding->alike, (std::vector<std::uint32_t>{0, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(folding->is_there(5) && !folding->is_there(1));
  for (const std::string_view text :
       {"", "alone", "0,2,5", "0,2,5|", "0,2,5|0|1-4", "0,2,5|0|1-6", "0,2,5|0,1|1-5", "0|0|1-5",
        "0,6|0|1-5", "0,2,5||0|1-5", "0,2,5|0|1-5|x", "0,0|0-5"})
    EXPECT_FALSE(folding_of(text, 6)) << text;
}

TEST(LiveFolding, GroupsAreReadBack) {
  const std::vector<std::vector<std::int32_t>> groups{{0, 2}, {1, 3}};
  EXPECT_EQ(text_of_groups(groups), "0,2|1,3");
  EXPECT_EQ(groups_of_text("0,2|1,3", 4), groups);
  for (const std::string_view text : {"", "0,2|", "0,2|2,3", "0,2|1,4", "0-|1"})
    EXPECT_FALSE(groups_of_text(text, 4)) << text;
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
  const Announced found = play(script_of(there), folded, random, [&](auto, auto) {
    return Named{"id", text_of_ranks(all)};
  });
  for (std::size_t one = 0; one < there.size(); ++one)
    RC_ASSERT(found[one] == expected[static_cast<std::size_t>(there[one])]);
}

/// What those who are there are told, in an order of their own.
std::map<std::int32_t, Announced::value_type> told_of(const MeshProgram& program,
                                                      const Folding& who, std::mt19937& random) {
  PlainWork work;
  Session session(work, kTimes);
  session.set_folding(who);
  return MeshPlay(program, who).run(session, random);
}

/// Of a mesh whoever is there, the first rank doing more than others.
RC_GTEST_PROP(LiveFoldingProperty, RanksOfAMeshThatAreThereAreToldWhatTheyWouldBeIfAllWere, ()) {
  const MeshProgram program;
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  const auto whole = told_of(program, Folding(), random);
  const auto some = told_of(program, program.folding(), random);
  for (const auto& [rank, told] : some) RC_ASSERT(told == whole.at(rank));
  for (const auto& [rank, told] : some) RC_ASSERT(!told.empty());
}

/// One of those that are there is killed, at any of its calls. What the others are told until then is no other for it; and
/// whoever waits for it ends the run by name, if nobody else does.
RC_GTEST_PROP(LiveFoldingProperty, ARankThatIsLostChangesNothingBeforeAndIsMissedByName, ()) {
  const MeshProgram program;
  const Folding folding = program.folding();
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  const auto expected = told_of(program, folding, random);
  PlainWork work;
  Session session(work, kTimes);
  session.set_folding(folding);
  const MeshPlay play(program, folding);
  const auto line = pick<std::size_t>(0, play.there().size());
  const auto told =
      play.run(session, random, {line, pick<std::size_t>(1, play.script()[line].size() + 1)});
  bool all_ended = true;
  for (const std::int32_t rank : play.there()) {
    const auto &some = told.at(rank), &all = expected.at(rank);
    RC_ASSERT(some.size() <= all.size());
    RC_ASSERT(std::equal(some.begin(), some.end(), all.begin()));
    all_ended = all_ended && (rank == play.there()[line] || some.size() == all.size());
  }
  const std::string wait = session.deadlock();
  RC_ASSERT(wait.empty() == all_ended);
  RC_ASSERT(all_ended ||
            wait.find(fmt::format("rank {} has ended\n", play.there()[line])) != std::string::npos);
}

}  // namespace
}  // namespace flopcast::live
