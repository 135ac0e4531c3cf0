#include "whatif/causes.h"

#include <gtest/gtest.h>

#include "support/sample_run.h"
#include "whatif/changes.h"
#include "whatif/forecast.h"

namespace flopcast::whatif {
namespace {

Prepared prepared_sample(unsigned threads = 2) {
  Result<TraceSet> set = read_traces({test::sample_run()});
  EXPECT_TRUE(set.ok());
  Result<Prepared> prepared = prepare(std::make_shared<const TraceSet>(std::move(*set)), threads);
  EXPECT_TRUE(prepared.ok());
  return std::move(*prepared);
}

/// Two changes of structure and two of durations.
WhatIfChanges four_changes() {
  WhatIfChanges changes;
  changes.set = {{"layers", "8"}, {"microbatches", "6"}};
  changes.scale = {{"kernel:gemm", 0.8}, {"host", 0.9}};
  return changes;
}

TEST(WhatIfCauses, QuestionsAreTheFirstAndAllButOne) {
  const auto changes = read_changes(four_changes());
  ASSERT_TRUE(changes.ok());
  std::vector<std::string> told;
  for (const std::vector<Change>& question : cause_questions(*changes)) {
    std::string names;
    for (const Change& change : question) names += change.text + "; ";
    told.push_back(names);
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"set layers=8; ", "set layers=8; set microbatches=6; ",
                                      "set layers=8; set microbatches=6; scale kernel:gemm=0.8; ",
                                      "set microbatches=6; scale kernel:gemm=0.8; scale host=0.9; ",
                                      "set layers=8; scale kernel:gemm=0.8; scale host=0.9; ",
                                      "set layers=8; set microbatches=6; scale host=0.9; "}));
  EXPECT_TRUE(cause_questions({changes->front()}).empty());
}

TEST(WhatIfThreads, MakeNoDifference) {
  WhatIfChanges some;
  some.set = {{"layers", "8"}};
  some.scale = {{"kernel:gemm", 0.8}};
  const auto changes = read_changes(some);
  ASSERT_TRUE(changes.ok());
  const auto one = forecast(prepared_sample(1), some, *changes);
  const auto four = forecast(prepared_sample(4), some, *changes);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(one->after, four->after);
  ASSERT_EQ(one->causes.size(), 2U);
  ASSERT_EQ(four->causes.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one->causes[i].forwards, four->causes[i].forwards);
    EXPECT_EQ(one->causes[i].backwards, four->causes[i].backwards);
  }
}

TEST(WhatIfCauses, AreThoseOfQuestionsAskedAlone) {
  const Prepared prepared = prepared_sample();
  const auto changes = read_changes(four_changes());
  ASSERT_TRUE(changes.ok());
  const auto answer = forecast(prepared, four_changes(), *changes);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->causes.size(), 4U);
  const auto alone = [&](const WhatIfChanges& some) {
    const auto list = read_changes(some);
    return forecast(prepared, some, *list)->after;
  };
  WhatIfChanges some = four_changes();
  some.scale.clear();
  const Time structure = alone(some);
  EXPECT_EQ(answer->causes[0].forwards + answer->causes[1].forwards, structure - answer->before);
  some.set.pop_back();
  EXPECT_EQ(answer->causes[0].forwards, alone(some) - answer->before);
  some = four_changes();
  some.set.erase(some.set.begin());
  EXPECT_EQ(answer->causes[0].backwards, answer->after - alone(some));
}

TEST(WhatIfCauses, ARunIsFoundAndEmittedOnce) {
  const Prepared prepared = prepared_sample();
  EXPECT_EQ(prepared.recorded.found->model.times(), 0);
  const auto changes = read_changes(four_changes());
  ASSERT_TRUE(changes.ok());
  Emissions emissions(prepared.recorded);
  std::vector<std::vector<Change>> questions = cause_questions(*changes);
  questions.push_back(*changes);
  emissions.prepare(questions, 2);
  emissions.prepare(questions, 2);
  EXPECT_EQ(emissions.size(), 2U);  // both, and the first; the second alone is asked for once
  EXPECT_NE(emissions.of(*changes), nullptr);
  EXPECT_NE(emissions.of({(*changes)[0]}), nullptr);
  EXPECT_EQ(emissions.of({(*changes)[1]}), nullptr);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(forecast(prepared, four_changes(), *changes).ok());
  EXPECT_EQ(prepared.recorded.found->model.times(), 1);
  EXPECT_EQ(prepared.recorded.found->program.times(), 1);
}

}  // namespace
}  // namespace flopcast::whatif
