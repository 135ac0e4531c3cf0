#include "live/fold/witness.h"

#include <gtest/gtest.h>

#include <string>

#include "support/session_script.h"

namespace flopcast::live {
namespace {

/// Eight ranks alike, of which these are there.
class LiveWitness : public testing::Test {
 protected:
  void come(const std::vector<std::int32_t>& there) {
    folding_.alike.assign(8, 0);
    folding_.there.assign(8, false);
    for (const std::int32_t rank : there) folding_.there[static_cast<std::size_t>(rank)] = true;
    witness_.emplace(folding_);
    for (const std::int32_t rank : there) witness_->came(rank);
  }
  void calls(std::uint32_t process, const std::vector<std::string>& kernels,
             std::uint32_t thread = 0) {
    for (const std::string& name : kernels)
      witness_->took(process, thread, test::kernel(0, 1), name);
  }
  std::string problem() const {
    return witness_->problem() ? witness_->problem()->text() : std::string();
  }
  std::string problem_at_end() const {
    const auto problem = witness_->problem_at_end();
    return problem ? problem->text() : std::string();
  }

 private:
  Folding folding_;
  std::optional<Witness> witness_;
};

TEST_F(LiveWitness, RanksMayCallTheSameAtOtherTimesAndOnOtherThreads) {
  come({0, 3, 7});
  calls(1, {"a", "b"}, 4);
  calls(0, {"a"});
  calls(2, {"a", "b", "c"}, 9);
  calls(0, {"b", "c"});
  calls(1, {"c"}, 4);
  EXPECT_EQ(problem(), "");
}

TEST_F(LiveWitness, TheFirstCallInWhichTwoDifferIsNamed) {
  come({0, 3, 7});
  calls(1, {"a", "b"});
  calls(2, {"a", "x"});
  EXPECT_NE(problem().find("ranks 3 and 7 stand for others"), std::string::npos);
  EXPECT_NE(problem().find("call 2 of theirs is b in rank 3 and x in rank 7"), std::string::npos);
}

TEST_F(LiveWitness, TheRunsFirstRankMayDoMoreWhereTwoOthersSpeak) {
  come({0, 3, 7});
  calls(0, {"a", "prints", "b"});
  for (const std::uint32_t other : {1u, 2u}) calls(other, {"a", "b"});
  EXPECT_EQ(problem(), "");
}

TEST_F(LiveWitness, TheFirstRankIsHeldAgainstTheOnlyOther) {
  come({0, 7});
  calls(0, {"a", "prints"});
  calls(1, {"a", "b"});
  EXPECT_NE(problem().find("ranks 0 and 7 stand for others"), std::string::npos);
}

TEST_F(LiveWitness, ACallThatOnlyOneHasMadeAtTheEndIsNamed) {
  come({0, 3, 7});
  calls(0, {"a", "prints"});
  calls(1, {"a", "b"});
  calls(2, {"a"});
  EXPECT_EQ(problem(), "");
  EXPECT_NE(problem_at_end().find("ranks 3 and 7 stand for others"), std::string::npos);
  EXPECT_NE(problem_at_end().find("call 2 of theirs is b in rank 3, and rank 7 makes none"),
            std::string::npos);
  calls(2, {"b"});
  EXPECT_EQ(problem_at_end(), "");
  calls(1, {"c"}, 5);  // a thread of its own
  EXPECT_NE(problem_at_end().find("is c in rank 3, and rank 7 makes none"), std::string::npos);
}

TEST_F(LiveWitness, OfTwoTheFirstRankIsHeldAtTheEnd) {
  come({0, 7});
  calls(0, {"a", "b"});
  calls(1, {"a"});
  EXPECT_NE(problem_at_end().find("call 2 of theirs is b in rank 0, and rank 7 makes none"),
            std::string::npos);
}

TEST_F(LiveWitness, WhoStandsForNobodyMayDoWhatHeWants) {
  come({0, 1, 2, 3, 4, 5, 6, 7});
  calls(1, {"a"});
  calls(2, {"b"});
  EXPECT_EQ(problem(), "");
}

}  // namespace
}  // namespace flopcast::live
