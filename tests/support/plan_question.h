// A search that tests of questions and of reports share, small enough to be answered in each.
#pragma once

#include <gtest/gtest.h>

#include "flopcast/question/plan.h"

namespace flopcast::test {

inline PlanQuestion plan_question() {
  PlanQuestion q;
  q.model = "gpt-3-1.3b";
  q.cluster = "2 x dgx-h100";
  q.global_batch = 64;
  q.sequence = 2048;
  q.best = 5;
  return q;
}

inline PlanReport answered(const PlanQuestion& q, unsigned shard = 0, unsigned shards = 1) {
  const Result<PlanReport> report = answer(q, {1, shard, shards, {}});
  if (!report) {
    ADD_FAILURE() << report.error().text();
    return {};
  }
  return *report;
}

}  // namespace flopcast::test
