#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "flopcast/analytic/graph.h"

namespace flopcast::analytic {
namespace {

using testing::HasSubstr;

constexpr ScheduleKind kAllKinds[] = {ScheduleKind::kGpipe,       ScheduleKind::kOneFOneB,
                                      ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
                                      ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipeV};

unsigned chunks_of(ScheduleKind kind) {
  if (kind == ScheduleKind::kInterleaved) return 3;
  return kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipeV ? 2 : 1;
}

StepWork work_of(ScheduleKind kind, unsigned chips, std::int64_t microbatches,
                 const StageTime& time) {
  StepWork work;
  work.schedule = *make_schedule(kind, chips, microbatches, chunks_of(kind));
  work.stages.assign(work.schedule.stages(), time);
  work.chips.resize(chips);
  return work;
}

StepRun run_of(const StepWork& work) {
  Result<StepRun> run = run_step(work);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().text());
  return run.ok() ? std::move(*run) : StepRun{};
}

/// Start and end of each task by "chip name".
std::map<std::string, std::pair<double, double>> times_of(const StepRun& run) {
  std::map<std::string, std::pair<double, double>> times;
  for (const Processor& p : run.graph.processors) {
    for (TaskId t = p.first; t < p.last; ++t) {
      const std::string name(run.names[run.graph.name[t]]);
      times[std::to_string(p.rank) + ' ' + name] = {run.run.start[t].seconds(),
                                                    run.run.end[t].seconds()};
    }
  }
  return times;
}

using Span = std::pair<double, double>;

TEST(ExpandGraph, WorkedExampleOfTheHeader) {
  const StepRun run = run_of(work_of(ScheduleKind::kOneFOneB, 2, 2, {{1}, {1.5}, {0.5}, {0.5}}));
  auto times = times_of(run);
  EXPECT_EQ(times["0 forward m0"], Span(0, 1));
  EXPECT_EQ(times["0 forward m1"], Span(1, 2));
  EXPECT_EQ(times["0 send forward m1"], Span(2, 2.5));
  EXPECT_EQ(times["1 forward m0"], Span(1.5, 2.5));
  EXPECT_EQ(times["1 backward m0"], Span(2.5, 4.5));
  EXPECT_EQ(times["1 forward m1"], Span(4.5, 5.5));
  EXPECT_EQ(times["1 backward m1"], Span(5.5, 7.5));
  EXPECT_EQ(times["0 backward m0"], Span(5, 7));
  EXPECT_EQ(times["0 backward m1"], Span(8, 10));
  EXPECT_EQ(run.step.value, 10);
  EXPECT_EQ(run.busy[0].value, 6);
}

// F0 0-1, send, F0 1.5-2.5, B0 -4.5, F1 -5.5, B1 -7.5, send, B1 8-10.
TEST(ExpandGraph, TheCriticalPathSumsToTheStep) {
  const StepRun run = run_of(work_of(ScheduleKind::kOneFOneB, 2, 2, {{1}, {1.5}, {0.5}, {0.5}}));
  const auto at = [&](StepTask what) { return run.critical[static_cast<std::size_t>(what)].value; };
  EXPECT_EQ(at(StepTask::kForward), 3);
  EXPECT_EQ(at(StepTask::kBackward), 6);
  EXPECT_EQ(at(StepTask::kSend), 1);
}

// Chip 0 gathers for 2 s, so all is 2 s later and ends at 12; chip 1 reduces from 9.5 for 5 s and
// optimizes until 15.5; then 0.25 s of fixed costs, all of it stretched by 2.
TEST(ExpandGraph, WorkAroundTheScheduleIsAddedPerChip) {
  StepWork work = work_of(ScheduleKind::kOneFOneB, 2, 2, {{1}, {1.5}, {0.5}, {0.5}});
  work.chips = {{{2}, {1}, {0.5}}, {{1}, {5}, {1}}};
  work.fixed = {0.25};
  auto times = times_of(run_of(work));
  EXPECT_EQ(times["0 forward m0"], Span(2, 3));
  EXPECT_EQ(times["0 optimizer"], Span(13, 13.5));
  EXPECT_EQ(times["1 reduce gradients"], Span(9.5, 14.5));
  EXPECT_EQ(times["1 optimizer"], Span(14.5, 15.5));
  EXPECT_EQ(times["0 fixed costs"], Span(15.5, 15.75));
  work.stretch = 2;
  EXPECT_EQ(run_of(work).step.value, 31.5);
}

// Forwards of 1 s whose sends take 3 s: the third microbatch arrives at 1 + 3 * 3.
TEST(ExpandGraph, SendsOfOneDirectionGoOneAfterAnother) {
  const StepWork work = work_of(ScheduleKind::kGpipe, 2, 3, {{1}, {1}, {1}, {3}});
  auto times = times_of(run_of(work));
  EXPECT_EQ(times["1 forward m2"], Span(10, 11));
  EXPECT_GT(run_of(work).step, pipeline_time(work.schedule, work.stages).total);
}

// Forwards (1 s) with backwards (2 s) at the same time: half of a forward is transfers.
TEST(ExpandGraph, PassesAtTheSameTimeAreOneTask) {
  const StepWork work = work_of(ScheduleKind::kDualPipeV, 2, 8, {{1}, {1}, {1}, {0}, {0.5}});
  const StepRun run = run_of(work);
  bool found = false;
  for (const auto& [name, time] : times_of(run)) {
    if (name.find(" & ") == std::string::npos) continue;
    found = true;
    EXPECT_NEAR(time.second - time.first, 2.5, 1e-12) << name;
  }
  EXPECT_TRUE(found);
}

/// Random work: a schedule of any kind with its own times for every stage.
StepWork random_work() {
  const auto kind =
      *rc::gen::elementOf(std::vector<ScheduleKind>(std::begin(kAllKinds), std::end(kAllKinds)));
  const auto chips = *rc::gen::inRange(1U, 6U);
  const auto rounds = *rc::gen::inRange<std::int64_t>(2, 5);
  StepWork work = work_of(kind, chips, rounds * chips, {});
  const auto time = [] { return Seconds{*rc::gen::inRange(1, 1000) * 1e-5}; };
  const bool alone = *rc::gen::arbitrary<bool>();
  for (StageTime& stage : work.stages) {
    stage = {time(), time(), time(), time()};
    stage.forward_sent = stage.forward * (*rc::gen::inRange(0, 11) * 0.1);
    stage.backward_sent = stage.backward_input * (*rc::gen::inRange(0, 11) * 0.1);
    stage.contention = 0.2;
    stage.send_alone = alone;
  }
  return work;
}

double rounding(const StepWork& work) {
  double passes = 0;
  for (const auto& actions : work.schedule.actions) passes += static_cast<double>(actions.size());
  return 2 * passes * 1e-12;
}

RC_GTEST_PROP(ExpandGraphProperties, EqualsTheClosedFormWhereSendsAreShort, ()) {
  StepWork work = random_work();
  double least = 1;
  for (const StageTime& s : work.stages) {
    least = std::min({least, s.forward.value, s.backward_input.value});
  }
  for (StageTime& s : work.stages) s.send = Seconds{std::min(s.send.value, least)};
  const PipelineTime closed = pipeline_time(work.schedule, work.stages);
  const StepRun run = run_of(work);
  RC_ASSERT(std::abs(run.step.value - closed.total.value) <= rounding(work));
  for (unsigned chip = 0; chip < work.schedule.chips; ++chip) {
    RC_ASSERT(std::abs(run.busy[chip].value - closed.busy[chip].value) <= rounding(work));
  }
}

RC_GTEST_PROP(ExpandGraphProperties, IsNeverFasterThanTheClosedForm, ()) {
  const StepWork work = random_work();
  const PipelineTime closed = pipeline_time(work.schedule, work.stages);
  RC_ASSERT(run_of(work).step.value >= closed.total.value - rounding(work));
}

RC_GTEST_PROP(ExpandGraphProperties, TheCriticalPathSumsToTheStep, ()) {
  StepWork work = random_work();
  for (ChipWork& chip : work.chips) {
    chip = {Seconds{*rc::gen::inRange(0, 100) * 1e-4}, Seconds{*rc::gen::inRange(0, 100) * 1e-4},
            Seconds{*rc::gen::inRange(0, 100) * 1e-4}};
  }
  work.fixed = Seconds{1e-3};
  const StepRun run = run_of(work);
  Seconds sum;
  for (const Seconds part : run.critical) sum += part;
  RC_ASSERT(std::abs(sum.value - run.step.value) <= rounding(work));
}

TEST(ExpandGraph, UnsoundWorkIsRefused) {
  StepWork work = work_of(ScheduleKind::kOneFOneB, 2, 2, {{1}, {1}, {1}, {0}});
  work.stages.pop_back();
  EXPECT_THAT(run_step(work).error().text(), HasSubstr("1 stages on 2 chips"));
  work = work_of(ScheduleKind::kOneFOneB, 2, 2, {{1e6}, {1e6}, {1e6}, {0}});
  EXPECT_EQ(run_step(work).error().code, ErrorCode::kTooLarge);
  work = work_of(ScheduleKind::kOneFOneB, 2, 2, {{1}, {1}, {1}, {0}});
  std::ranges::reverse(work.schedule.actions[1]);
  EXPECT_EQ(run_step(work).error().code, ErrorCode::kNoAnswer);
}

}  // namespace
}  // namespace flopcast::analytic
