// Schedules: complete, without deadlock, and with the bubbles and memory their papers state.
#include "flopcast/parallel/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace flopcast::parallel {
namespace {

constexpr ScheduleKind kAll[] = {ScheduleKind::kGpipe,       ScheduleKind::kOneFOneB,
                                 ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
                                 ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipeV};

bool is_folded(ScheduleKind kind) {
  return kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipeV;
}

Schedule made(ScheduleKind kind, unsigned p, std::int64_t m, unsigned v = 1) {
  Result<Schedule> schedule = make_schedule(kind, p, m, is_folded(kind) ? 2 : v);
  EXPECT_TRUE(schedule) << schedule.error().text();
  return *schedule;
}

/// Each stage the same; times of one virtual stage.
PipelineTime timed(const Schedule& schedule, double f, double b, double w, double send = 0,
                   double forward_sent = 0) {
  const std::vector<StageTime> stages(schedule.stages(), {Seconds{f}, Seconds{b}, Seconds{w},
                                                          Seconds{send}, Seconds{forward_sent}});
  return pipeline_time(schedule, stages);
}

std::string drawn(const std::vector<PipelineAction>& actions) {
  std::string text;
  for (const PipelineAction& action : actions) {
    text += "FDBW"[static_cast<int>(action.op)];
    text += std::to_string(action.microbatch);
    if (action.chunk > 0) text += "'";
    text += action.with_next ? "+" : " ";
  }
  return text;
}

TEST(Schedule, AllAreCompleteAndEnd) {
  for (const ScheduleKind kind : kAll) {
    for (const unsigned p : {1u, 2u, 3u, 4u, 8u, 13u}) {
      for (const unsigned times : {1u, 2u, 3u, 5u}) {
        const std::int64_t m = static_cast<std::int64_t>(p) * times;
        if (kind == ScheduleKind::kDualPipeV && times < 2) continue;
        const unsigned v = kind == ScheduleKind::kInterleaved ? 3 : 1;
        const auto problem = schedule_problem(made(kind, p, m, v));
        EXPECT_FALSE(problem) << name(kind) << " p " << p << " m " << m << ": " << problem->text();
      }
    }
  }
}

TEST(Schedule, PairsOfDualPipeAreCounted) {
  for (const unsigned p : {1u, 2u, 3u, 5u, 8u}) {
    for (const std::int64_t m : {2 * p, 2 * p + 1, 7 * p}) {
      const Schedule schedule = made(ScheduleKind::kDualPipeV, p, m);
      for (unsigned chip = 0; chip < p; ++chip) {
        std::array<std::int64_t, 2> pairs{};
        for (const PipelineAction& action : schedule.actions[chip]) {
          if (action.with_next) ++pairs[action.chunk];
        }
        EXPECT_EQ(pairs, dualpipe_pairs(p, chip, m)) << p << " chips, chip " << chip;
      }
    }
  }
}

TEST(Schedule, NoneIsLongerThanMemoryHolds) {
  for (const ScheduleKind kind : kAll) {
    const Result<Schedule> schedule =
        make_schedule(kind, 8, std::int64_t{1} << 40, is_folded(kind) ? 2 : 1);
    ASSERT_FALSE(schedule);
    EXPECT_EQ(schedule.error().code, ErrorCode::kTooLarge) << schedule.error().text();
  }
}

TEST(Schedule, FewMicrobatches) {
  for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::kOneFOneB,
                                  ScheduleKind::kZeroBubbleH1, ScheduleKind::kZeroBubbleV}) {
    for (std::int64_t m = 1; m < 8; ++m) {
      const auto problem = schedule_problem(made(kind, 4, m));
      EXPECT_FALSE(problem) << name(kind) << " m " << m << ": " << problem->text();
    }
  }
}

TEST(Schedule, OrderOfTheClassics) {
  EXPECT_EQ(drawn(made(ScheduleKind::kGpipe, 2, 2).actions[0]), "F0 F1 D0 D1 ");
  const Schedule alternating = made(ScheduleKind::kOneFOneB, 3, 4);
  EXPECT_EQ(drawn(alternating.actions[0]), "F0 F1 F2 D0 F3 D1 D2 D3 ");
  EXPECT_EQ(drawn(alternating.actions[2]), "F0 D0 F1 D1 F2 D2 F3 D3 ");
  EXPECT_EQ(drawn(made(ScheduleKind::kInterleaved, 2, 4, 2).actions[1]),
            "F0 F1 F0' D0' F1' D1' F2 D0 F3 D1 F2' D2' F3' D3' D2 D3 ");
  EXPECT_EQ(drawn(made(ScheduleKind::kDualPipeV, 1, 2).actions[0]),
            "F0 F0' F1 D0' F1'+D0 D1' B1 W1 ");
}

TEST(Schedule, StagesFollowTheirShape) {
  const Schedule dealt = made(ScheduleKind::kInterleaved, 4, 4, 2);
  EXPECT_EQ(dealt.stage_of(1, 1), 5u);
  const Schedule folded = made(ScheduleKind::kZeroBubbleV, 4, 8);
  EXPECT_EQ(folded.stage_of(0, 1), 7u);
  for (const Schedule* schedule : {&dealt, &folded}) {
    for (unsigned stage = 0; stage < schedule->stages(); ++stage) {
      EXPECT_EQ(schedule->stage_of(schedule->chip_of(stage), schedule->chunk_of(stage)), stage);
    }
  }
}

// Huang et al.; Narayanan et al. (2021) section 2.2: (p - 1)(F + B), with v chunks a v-th of it.
TEST(Bubble, OfGpipeAnd1f1bAndInterleaved) {
  const double f = 1, b = 1.25, w = 0.5;
  for (const unsigned p : {2u, 4u, 8u}) {
    const double whole = (p - 1) * (f + b + w);
    EXPECT_NEAR(timed(made(ScheduleKind::kGpipe, p, 16), f, b, w).bubble().value, whole, 1e-9);
    EXPECT_NEAR(timed(made(ScheduleKind::kOneFOneB, p, 16), f, b, w).bubble().value, whole, 1e-9);
    for (const unsigned v : {2u, 3u, 5u}) {
      const Schedule schedule = made(ScheduleKind::kInterleaved, p, 16, v);
      EXPECT_NEAR(timed(schedule, f / v, b / v, w / v).bubble().value, whole / v, 1e-9);
    }
  }
}

// Qi et al. (2401.10241) table 2: ZB-H1 (p - 1)(F + B - W), at the memory of 1F1B.
TEST(Bubble, OfZeroBubbleH1) {
  for (const unsigned p : {2u, 4u, 8u}) {
    for (const auto& [f, b, w] : {std::array{1.0, 1.0, 1.0}, std::array{1.0, 1.2, 0.8}}) {
      const Schedule schedule = made(ScheduleKind::kZeroBubbleH1, p, 24);
      EXPECT_NEAR(timed(schedule, f, b, w).bubble().value, (p - 1) * (f + b - w), 1e-9);
      const std::vector<unsigned> peaks = peak_in_flight(schedule);
      EXPECT_EQ(*std::max_element(peaks.begin(), peaks.end()), p);
    }
  }
}

// Qi et al. (2405.15362): with F = B = W no chip idles between its first start and its last end,
// at the memory of 1F1B (p microbatches of two half-size chunks: 2 p).
TEST(Bubble, OfZeroBubbleV) {
  for (const unsigned p : {2u, 4u, 8u}) {
    const Schedule schedule = made(ScheduleKind::kZeroBubbleV, p, 24);
    const PipelineTime time = timed(schedule, 1, 1, 1);
    for (unsigned chip = 0; chip < p; ++chip) {
      EXPECT_NEAR((time.end[chip] - time.start[chip] - time.busy[chip]).value, 0, 1e-9) << chip;
      EXPECT_LE(peak_in_flight(schedule)[chip], 2 * p);
    }
  }
}

// deepseek-ai/DualPipe, README: (p - 1)(F&B + B - 3 W) on p chips, B both gradients, F&B a pair.
TEST(Bubble, OfDualPipeV) {
  const double f = 1, b = 1, w = 1;
  for (const unsigned p : {2u, 4u, 8u}) {
    const Schedule schedule = made(ScheduleKind::kDualPipeV, p, 32);
    for (const double sent : {0.0, f}) {  // nothing of a forward can be hidden, or all of it
      const PipelineTime time = timed(schedule, f, b, w, 0, sent);
      const double pair = f - sent + b + w;
      // Of the last chip, which runs the most pairs.
      EXPECT_NEAR((time.total - time.busy.back()).value, (p - 1) * (pair + (b + w) - 3 * w), 1e-9)
          << p << " " << sent;
    }
    for (const unsigned held : peak_in_flight(schedule)) EXPECT_LE(held, 2 * p + 1);
  }
}

TEST(Schedule, PassesTogetherTakeWhatTakesLongest) {
  const Schedule schedule = made(ScheduleKind::kDualPipeV, 1, 4);
  const std::vector<PipelineAction> pair = {{PipelineOp::kForward, true, 0, 0},
                                            {PipelineOp::kBackward, false, 1, 0}};
  const auto time = [&](const StageTime& forward, const StageTime& backward) {
    const std::vector<StageTime> stages = {forward, backward};
    return pass_time(schedule, stages, 0, pair).value;
  };
  const auto forward = [](double all, double sent) { return StageTime{{all}, {}, {}, {}, {sent}}; };
  const auto backward = [](double all, double sent) {
    return StageTime{{}, {all / 2}, {all / 2}, {}, {}, {sent}};
  };
  EXPECT_DOUBLE_EQ(time(forward(3, 1), backward(4, 2)), 4);      // 4 s of kernels, 3 s of transfers
  EXPECT_DOUBLE_EQ(time(forward(3, 0), backward(4, 0)), 7);      // kernels alone share the chip
  EXPECT_DOUBLE_EQ(time(forward(3, 2.5), backward(4, 3)), 5.5);  // the links are the limit
  EXPECT_DOUBLE_EQ(time(forward(1, 0), backward(6, 2)), 6);      // its own pace
  StageTime slowed = forward(3, 1);
  slowed.contention = 0.5;  // of the 3 s that are hidden
  EXPECT_DOUBLE_EQ(time(slowed, backward(4, 2)), 5.5);
}

TEST(Schedule, MemoryInFlight) {
  EXPECT_EQ(peak_in_flight(made(ScheduleKind::kGpipe, 4, 12)), (std::vector<unsigned>(4, 12)));
  EXPECT_EQ(peak_in_flight(made(ScheduleKind::kOneFOneB, 4, 12)),
            (std::vector<unsigned>{4, 3, 2, 1}));
  // Narayanan et al. (2021): chip 0 holds p (v - 1) + 2 (p - 1) + 1 chunks.
  const Schedule interleaved = made(ScheduleKind::kInterleaved, 4, 12, 2);
  EXPECT_EQ(peak_in_flight(interleaved)[0], 4u + 6u + 1u);
  // The last stage turns every microbatch around at once.
  EXPECT_EQ(peak_in_flight(interleaved, interleaved.stages() - 1), 1u);
  // So it does with as many microbatches as stages (Megatron-Core, get_pp_rank_microbatches).
  const Schedule few = made(ScheduleKind::kInterleaved, 4, 4, 2);
  EXPECT_EQ(peak_in_flight(few, few.stages() - 1), 1u);
  EXPECT_EQ(peak_in_flight(few)[0], 8u);
  EXPECT_EQ(peak_in_flight(made(ScheduleKind::kOneFOneB, 4, 12), 1), 3u);
}

TEST(Schedule, SendsDelayOnlyBetweenChips) {
  EXPECT_DOUBLE_EQ(timed(made(ScheduleKind::kOneFOneB, 1, 4), 1, 1, 1, 100).total.value, 12);
  // One microbatch: p - 1 hops each way.
  EXPECT_DOUBLE_EQ(timed(made(ScheduleKind::kOneFOneB, 4, 1), 1, 1, 1, 0.5).total.value,
                   4 * 3 + 6 * 0.5);
  // There and back on a V: 2 p stages, but the turn stays on its chip.
  EXPECT_DOUBLE_EQ(timed(made(ScheduleKind::kZeroBubbleV, 2, 1), 1, 1, 0, 0.5).total.value,
                   4 * 2 + 4 * 0.5);
}

// By hand. Chip 0: F 0-1, 1.5-2.5, 3-4. Chip 1: F 1.5-2.5, 3-4, 4.5-5.5, B 5.5-6.5, 7-8, 8.5-9.5. Chip 0: B 7-8, 8.5-9.5,
// 10-11. Where sends are hidden chip 1 ends its forwards at 4.5 and all is over at 9.
TEST(Schedule, SendsThatNothingHidesAreWaitedFor) {
  const Schedule schedule = made(ScheduleKind::kGpipe, 2, 3);
  std::vector<StageTime> stages(2, {Seconds{1}, Seconds{1}, Seconds{0}, Seconds{0.5}});
  EXPECT_DOUBLE_EQ(pipeline_time(schedule, stages).total.value, 9);
  for (StageTime& stage : stages) stage.send_alone = true;
  const PipelineTime time = pipeline_time(schedule, stages);
  EXPECT_DOUBLE_EQ(time.total.value, 11);
  EXPECT_DOUBLE_EQ(time.busy[0].value, 6);
  EXPECT_TRUE(waits_for_send(schedule, stages, 0, 0));
  EXPECT_FALSE(waits_for_send(schedule, stages, 0, 2));  // a backward comes next
  EXPECT_FALSE(waits_for_send(schedule, stages, 1, 0));  // nothing to send on
  EXPECT_FALSE(waits_for_send(schedule, stages, 1, 5));  // nothing comes next
}

TEST(Schedule, SlowestStagePaces) {
  const Schedule schedule = made(ScheduleKind::kOneFOneB, 4, 64);
  std::vector<StageTime> stages(4, {Seconds{1}, Seconds{1}, Seconds{1}, Seconds{0}});
  stages[2].forward = Seconds{2};
  const PipelineTime time = pipeline_time(schedule, stages);
  EXPECT_DOUBLE_EQ(time.busy[2].value, 64 * 4);
  // Chip 2 starts after 2, idles 1 while chip 3 turns the first and again the last microbatch
  // around, and chips 1 and 0 need 2 each after its end.
  EXPECT_DOUBLE_EQ(time.total.value, 2 + 1 + 64 * 4 + 1 + 2 * 2);
}

TEST(Schedule, FlawsAreNamed) {
  Schedule schedule = made(ScheduleKind::kOneFOneB, 2, 2);
  const auto words = [](const Schedule& flawed) { return schedule_problem(flawed)->what; };
  Schedule flawed = schedule;
  flawed.actions[1].pop_back();
  EXPECT_NE(words(flawed).find("chip 1: microbatch 1 of chunk 0 lacks"), std::string::npos);
  flawed = schedule;
  flawed.actions[0].push_back(flawed.actions[0].front());
  EXPECT_NE(words(flawed).find("comes twice"), std::string::npos);
  flawed = schedule;
  flawed.actions[0][0].microbatch = 7;
  EXPECT_NE(words(flawed).find("does not exist"), std::string::npos);
  flawed = schedule;
  std::swap(flawed.actions[1][0], flawed.actions[1][1]);  // backward before its forward
  EXPECT_NE(words(flawed).find("waits for something"), std::string::npos);
  EXPECT_TRUE(std::isinf(timed(flawed, 1, 1, 1).total.value));
  flawed = schedule;
  flawed.actions.pop_back();
  EXPECT_TRUE(schedule_problem(flawed));
}

TEST(Schedule, UnsuitableSizesAreRefused) {
  EXPECT_FALSE(make_schedule(ScheduleKind::kInterleaved, 4, 6, 2));
  EXPECT_FALSE(make_schedule(ScheduleKind::kDualPipeV, 4, 7, 2));
  EXPECT_FALSE(make_schedule(ScheduleKind::kZeroBubbleV, 4, 8, 1));
  EXPECT_FALSE(make_schedule(ScheduleKind::kOneFOneB, 4, 8, 2));
  EXPECT_FALSE(make_schedule(ScheduleKind::kOneFOneB, 0, 8));
  EXPECT_FALSE(make_schedule(ScheduleKind::kGpipe, 4, 0));
  EXPECT_FALSE(make_schedule(ScheduleKind::kGpipe, 4, 1'000'000'000));
}

TEST(Schedule, Names) {
  for (const ScheduleKind kind : kAll) EXPECT_EQ(parse_schedule_kind(name(kind)), kind);
  EXPECT_EQ(parse_schedule_kind("Interleaved1F1B"), ScheduleKind::kInterleaved);
  EXPECT_EQ(parse_schedule_kind("ZBVZeroBubble"), ScheduleKind::kZeroBubbleV);
  EXPECT_EQ(parse_schedule_kind("looped"), std::nullopt);
}

}  // namespace
}  // namespace flopcast::parallel
