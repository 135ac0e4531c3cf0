#include "live/fold/witness.h"

#include <fmt/format.h>
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
  std::uint64_t other_lengths() const { return witness_->other_lengths(); }
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

/// PyTorch's attention of two pieces of 256 queries, which look at so many keys.
std::string attention(int first, int second) {
  return fmt::format(
      "operator aten::_flash_attention_forward query=bf16:512x4x128,key=bf16:1280x4x128,"
      "value=bf16:1280x4x128,cum_seq_q=i32:3@0+256^3,cum_seq_k=i32:3@0;{};{},max_q=#256,"
      "max_k=#1024,is_causal=#1 bf16:512x4x128 1000 pytorch_flash::flash_fwd_kernel",
      first, first + second);
}

TEST_F(LiveWitness, OtherLengthsAreAlikeWhereTheyAreAsMuchWork) {
  come({0, 3, 7});
  calls(1, {attention(256, 1024), "b"});
  calls(2, {attention(512, 768), "b"});
  calls(0, {attention(256, 1024), "b"});
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(other_lengths(), 1u);
}

TEST_F(LiveWitness, OtherLengthsThatAreMoreWorkAreNamed) {
  come({0, 3, 7});
  calls(1, {attention(256, 1024)});
  calls(2, {attention(512, 766)});
  EXPECT_NE(problem().find("ranks 3 and 7 stand for others"), std::string::npos);
  EXPECT_NE(problem().find("3@0;512;1278"), std::string::npos);
  EXPECT_EQ(other_lengths(), 0u);
}

TEST_F(LiveWitness, ValuesOfWorkThatNobodyKnowsAreCompared) {
  come({0, 3, 7});
  calls(1, {"operator my::own ends=i32:3@0;1;9 bf16:4 1000 k"});
  calls(2, {"operator my::own ends=i32:3@0;2;9 bf16:4 1000 k"});
  EXPECT_NE(problem().find("ranks 3 and 7 stand for others"), std::string::npos);
}

TEST_F(LiveWitness, WhoStandsForNobodyMayDoWhatHeWants) {
  come({0, 1, 2, 3, 4, 5, 6, 7});
  calls(1, {"a"});
  calls(2, {"b"});
  EXPECT_EQ(problem(), "");
}

}  // namespace
}  // namespace flopcast::live
