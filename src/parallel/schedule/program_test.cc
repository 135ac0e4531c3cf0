// Schedules as programs against the run of their lists, to the last bit.
#include "flopcast/parallel/schedule_program.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace flopcast::parallel {
namespace {

constexpr ScheduleKind kKinds[] = {ScheduleKind::kGpipe,       ScheduleKind::kOneFOneB,
                                   ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
                                   ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipeV};

Seconds any_seconds() { return Seconds{1e-3 * *rc::gen::inRange(0, 5000) / 7}; }

/// Of every stage its own, or of all the same.
std::vector<StageTime> any_stages(unsigned count) {
  const bool alike = *rc::gen::arbitrary<bool>(), may_wait = *rc::gen::arbitrary<bool>();
  const double contention = *rc::gen::element(0.0, 0.1, 0.25);
  std::vector<StageTime> stages;
  for (unsigned i = 0; i < count; ++i) {
    StageTime stage{any_seconds(), any_seconds(), any_seconds(), any_seconds() * 0.2};
    stage.forward_sent = stage.forward * (0.25 * *rc::gen::inRange(0, 5));
    stage.backward_sent = stage.backward_input * (0.25 * *rc::gen::inRange(0, 5));
    stage.contention = contention;
    stage.send_alone = may_wait && *rc::gen::arbitrary<bool>();
    stages.push_back(alike && i > 0 ? stages.front() : stage);
  }
  return stages;
}

struct Pair {
  Schedule schedule, longer;
};

Pair any_schedules() {
  const ScheduleKind kind = *rc::gen::elementOf(std::vector(std::begin(kKinds), std::end(kKinds)));
  const unsigned p = *rc::gen::inRange(1U, 9U);
  const bool folded = kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipeV;
  const bool dealt = kind == ScheduleKind::kInterleaved;
  const unsigned v = folded ? 2 : dealt ? *rc::gen::inRange(1U, 4U) : 1;
  const std::int64_t unit = dealt ? p : 1;
  const std::int64_t least = kind == ScheduleKind::kDualPipeV ? 2 * std::int64_t{p} : 1;
  const std::int64_t m = unit * (least + *rc::gen::inRange(0, 20));
  const std::int64_t more = unit * *rc::gen::inRange(1, 10);
  return {*make_schedule(kind, p, m, v), *make_schedule(kind, p, m + more, v)};
}

void expect_same(const PipelineTime& a, const PipelineTime& b) {
  const auto values = [](const std::vector<Seconds>& all) {
    std::vector<double> out;
    for (const Seconds each : all) out.push_back(each.value);
    return out;
  };
  RC_ASSERT(a.total.value == b.total.value);
  RC_ASSERT(values(a.start) == values(b.start));
  RC_ASSERT(values(a.end) == values(b.end));
  RC_ASSERT(values(a.busy) == values(b.busy));
}

RC_GTEST_PROP(ScheduleProgram, SaysWhatTheRunSays, ()) {
  const Pair pair = any_schedules();
  ScheduleProgram both(pair.schedule, pair.longer), alone(pair.schedule);
  for (int time = 0; time < 2; ++time) {  // what was run before changes nothing
    const std::vector<StageTime> stages = any_stages(pair.schedule.stages());
    const ScheduleProgram::Times times = both.run(stages);
    expect_same(times.schedule, pipeline_time(pair.schedule, stages));
    expect_same(times.longer, pipeline_time(pair.longer, stages));
    expect_same(alone.run(stages).longer, times.schedule);
  }
}

}  // namespace
}  // namespace flopcast::parallel
