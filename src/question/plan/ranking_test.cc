// Which of the plans that are as fast as anybody can tell comes first.
#include "question/plan/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flopcast/analytic/odds.h"
#include "support/plan_question.h"

namespace flopcast::question {
namespace {

using test::answered;
using test::plan_question;

PlanCandidate made(double time, double gigabytes, std::uint64_t number) {
  PlanCandidate c;
  c.found.time = Seconds{time};
  c.found.memory = Bytes{gigabytes * 1e9};
  c.found.number = number;
  return c;
}

std::vector<std::uint64_t> order(std::vector<PlanCandidate> list) {
  rank(list);
  std::vector<std::uint64_t> numbers;
  for (const PlanCandidate& c : list) numbers.push_back(c.found.number);
  return numbers;
}

TEST(PlanRanking, OfTiesTheLeanerComesFirstAndWhatIsBehindStaysBehind) {
  const double tie = plan_odds().tie_time;
  std::vector<PlanCandidate> list = {made(1, 85.8, 1), made(1.0001, 59, 2),
                                     made(tie * 0.999, 70, 3), made(tie * 1.001, 20, 4),
                                     made(2, 10, 5)};
  EXPECT_EQ(order(list), (std::vector<std::uint64_t>{2, 3, 1, 4, 5}));
  rank(list);
  for (const PlanCandidate& c : list) EXPECT_EQ(c.tie, c.found.number < 4) << c.found.number;
}

TEST(PlanRanking, OfThoseThatNeedAsMuchTheSimplerThenTheOneThatWaitsLess) {
  std::vector<PlanCandidate> list(3, made(1, 59, 0));
  for (std::size_t i = 0; i < list.size(); ++i) list[i].found.number = i;
  list[0].found.plan.pp = list[1].found.plan.pp = 4;
  list[0].parts[static_cast<std::size_t>(TimePart::kTensor)] = Seconds{0.1};
  list[2].found.time = Seconds{1.001};
  EXPECT_EQ(order(list), (std::vector<std::uint64_t>{2, 1, 0}));
}

TEST(PlanRanking, OneAloneTiesWithNobody) {
  std::vector<PlanCandidate> list = {made(1, 59, 0), made(1.5, 20, 1)};
  rank(list);
  EXPECT_FALSE(list[0].tie || list[1].tie);
}

// Whatever the search: nothing that was found ties with the fastest and is leaner than the first.
TEST(PlanRanking, NothingThatIsAsFastIsLeanerThanTheFirst) {
  PlanQuestion one_node = plan_question();
  one_node.cluster = "1 x dgx-h100";
  PlanQuestion pipelined = plan_question();
  pipelined.constraints = {*parse_plan_constraint("pp>=2")};
  for (const PlanQuestion& question : {plan_question(), one_node, pipelined}) {
    const PlanReport r = answered(question);
    ASSERT_TRUE(r.fits());
    const Seconds last = r.search.pareto.front().time * plan_odds().tie_time;
    const PlanFound& first = r.best.front().found;
    EXPECT_LE(first.time, last);
    for (const PlanFound& found : r.search.pareto) {
      if (found.time > last) continue;
      EXPECT_GE(found.memory * plan_odds().tie_memory, first.memory);
    }
    for (std::size_t i = 0; i < r.best.size(); ++i) {
      EXPECT_EQ(r.best[i].tie, r.best.size() > 1 && r.best[i].found.time <= last) << i;
    }
  }
}

}  // namespace
}  // namespace flopcast::question
