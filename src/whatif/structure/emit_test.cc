#include "whatif/structure/emit.h"

#include <gtest/gtest.h>

#include "flopcast/replay/recording.h"
#include "support/sample_run.h"
#include "whatif/change/made_run.h"
#include "whatif/structure/change_structure.h"
#include "whatif/structure/more_replicas.h"
#include "whatif/structure/plan/transfers.h"
#include "whatif/structure/recorded/ranks.h"
#include "whatif/structure/recorded/samples.h"

namespace flopcast::whatif::structure {
namespace {

/// The sample, read once.
struct Sample {
  std::shared_ptr<const TraceSet> set;
  replaying::Recording recording;
  TraceModel model;
  std::optional<RecordedProgram> program;
};
const Sample& sample() {
  static const Sample made = [] {
    Sample s;
    Result<TraceSet> set = read_traces({test::sample_run()});
    EXPECT_TRUE(set) << (set ? "" : set.error().text());
    s.set = std::make_shared<const TraceSet>(std::move(*set));
    Replay notes;
    s.recording = replaying::make_recording(*s.set, 0, notes);
    s.model = make_trace_model(*s.set, s.recording);
    s.program = *read_program(s.model, *s.set, s.recording);
    return s;
  }();
  return made;
}

Result<EmittedRun> emitted(const StructureChange& change) {
  return emit(sample().model, *sample().set, sample().recording, *sample().program, change);
}

/// From the start of a step to that of the next, on rank 0.
double step_ms(const EmittedRun& run) {
  const std::vector<Step> steps = find_steps(*run.set, run.set->traces.front());
  const std::size_t n = steps.size();
  return (steps[n - 1].start - steps[n - 2].start).seconds() * 1e3;
}

TEST(EmittedRuns, TheSamePlanTakesTheSameStep) {
  const std::vector<Step> steps = find_steps(*sample().set, sample().set->traces.front());
  const double recorded = (steps[2].start - steps[1].start).seconds() * 1e3;
  const auto run = emitted({});
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_NEAR(step_ms(*run), recorded, 0.02 * recorded);
}

TEST(EmittedRuns, AreWholeGraphs) {
  StructureChange change;
  change.pp = 4;
  change.dp = 4;
  const auto run = emitted(change);
  ASSERT_TRUE(run) << run.error().text();
  const replaying::Recording& rec = *run->recording;
  ASSERT_EQ(rec.ranks.size(), 32u);
  for (const replaying::RankModel& rank : rec.ranks) {
    ASSERT_FALSE(rank.gpu.empty());
    for (const replaying::GpuTask& task : rank.gpu) {
      EXPECT_GE(task.start, rank.calls[task.call].start);
      EXPECT_TRUE(is_gpu_work(rank.trace->events.category[task.row]));
      EXPECT_EQ(rank.trace->events.start[task.row], task.start);
    }
    for (const replaying::Stream& stream : rank.streams) {
      for (std::size_t i = 1; i < stream.tasks.size(); ++i) {
        EXPECT_LE(rank.gpu[stream.tasks[i - 1]].end, rank.gpu[stream.tasks[i]].start);
      }
    }
  }
  for (const replaying::Collective& c : rec.collectives) {
    EXPECT_TRUE(c.rendezvous());
    EXPECT_GT(c.members.size(), 1u);
  }
}

TEST(EmittedRuns, HangOnNoMomentOfTheRecording) {
  replaying::Recording later = sample().recording;
  for (replaying::RankModel& rank : later.ranks) shift_all(rank, Time::from_us(1'000'000));
  update_arrivals(later.ranks, later.collectives);
  StructureChange change;
  change.microbatches = 6;
  const auto run = emitted(change);
  const TraceModel model = make_trace_model(*sample().set, later);
  const auto program = read_program(model, *sample().set, later);
  ASSERT_TRUE(program);
  const auto shifted = emit(model, *sample().set, later, *program, change);
  ASSERT_TRUE(run && shifted);
  for (std::size_t r = 0; r < run->recording->ranks.size(); ++r) {
    const auto& a = run->recording->ranks[r].gpu;
    const auto& b = shifted->recording->ranks[r].gpu;
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t t = 0; t < a.size(); ++t) {
      EXPECT_EQ(a[t].start, b[t].start);
      EXPECT_EQ(a[t].end, b[t].end);
    }
  }
}

TEST(EmittedRuns, MoreMicrobatchesAddTheirPasses) {
  StructureChange change;
  change.microbatches = 8;
  const auto four = emitted({});
  const auto eight = emitted(change);
  ASSERT_TRUE(four && eight);
  const auto kernels = [](const EmittedRun& run) { return run.recording->ranks[0].gpu.size(); };
  EXPECT_GT(kernels(*eight), 1.8 * static_cast<double>(kernels(*four)));
  EXPECT_GT(step_ms(*eight), 1.6 * step_ms(*four));
}

/// 1.4 million rows: 1 GB, well within the bound.
TEST(EmittedRuns, HundredsOfRanksAreWrittenOut) {
  StructureChange change;
  change.dp = 128;
  const auto run = emitted(change);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->recording->ranks.size(), 512U);
}

TEST(EmittedRuns, WorkIsBoundedBeforeItBegins) {
  using Count = std::optional<std::uint32_t> StructureChange::*;
  for (const Count knob :
       {&StructureChange::dp, &StructureChange::tp, &StructureChange::pp, &StructureChange::cp,
        &StructureChange::microbatches, &StructureChange::layers, &StructureChange::chunks}) {
    for (const std::uint32_t many : {100'000u, 1u << 31, 4294967295u}) {
      StructureChange change;
      change.*knob = many;
      EXPECT_FALSE(emitted(change)) << many;
    }
  }
  StructureChange change;
  change.dp = 100'000;
  EXPECT_NE(emitted(change).error().what.find("more than the "), std::string::npos)
      << emitted(change).error().what;
}

TEST(EmittedRuns, TheEvidenceThatIsMissingIsNamed) {
  StructureChange experts;
  experts.ep = 2;
  const auto run = emitted(experts);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kNoAnswer);
  EXPECT_NE(run.error().what.find("experts"), std::string::npos);
  StructureChange shards;
  shards.tp = 3;
  const auto uneven = emitted(shards);
  ASSERT_FALSE(uneven);
  EXPECT_EQ(uneven.error().code, ErrorCode::kUsage);
}

TEST(EmittedRuns, WithoutLayersThereAreNoKnobsOfLayers) {
  TraceModel model = sample().model;
  model.layers = 0;
  model.layer_evidence = "nothing repeats";
  StructureChange change;
  change.layers = 8;
  const auto run = emit(model, *sample().set, sample().recording, *sample().program, change);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().what.find("nothing repeats"), std::string::npos);
}

// However many changes are asked for, also side by side: one reading, one run without any change.
TEST(EmittedRunsThreads, TheRecordedProgramIsMadeOnceAndStays) {
  Replay notes;
  const ChangedRun recorded =
      make_run(sample().set, replaying::make_recording(*sample().set, 0, notes), 0);
  // Among them all that puts other stretches in the place of recorded ones.
  const std::vector<Action> actions = {SetSize{&StructureChange::microbatches, 8},
                                       SetSize{&StructureChange::tp, 1},
                                       SetSize{&StructureChange::dp, 4},
                                       SetSchedule{ScheduleKind::kZeroBubbleH1},
                                       SetRecompute{0},
                                       SetSize{&StructureChange::microbatches, 8}};
  std::vector<ChangedRun> runs(actions.size(), recorded);
  parallel_for(runs.size(), 3, [&](std::size_t i) {
    EXPECT_FALSE(change_structure(runs[i], recorded, {{actions[i], "change"}}));
  });
  EXPECT_EQ(recorded.found->model.times(), 1);
  EXPECT_EQ(recorded.found->program.times(), 1);
  const auto& program = recorded.found->program.of(
      []() -> Result<RecordedProgram> { return usage_error("program", "was not made", ""); });
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(program->off->times(), 1);
  ASSERT_TRUE(runs.front().emitted && runs.back().emitted);
  EXPECT_EQ(runs.front().durations.ranks[0].gpu, runs.back().durations.ranks[0].gpu);
}

// The worked example of docs/theory/whatif.md.
TEST(Transfers, GoByTheBytesOnARingsLinks) {
  const Transfers transfers(*sample().set);
  const Time recorded = Time::from_ns(1'132'500);
  const double ratio = transfers.ratio("allreduce", recorded, 2, 1, 4);
  EXPECT_NEAR(recorded.us() * ratio, 1697.3, 0.1);
  EXPECT_EQ(transfers.ratio("allreduce", recorded, 4, 1, 4), 1);
  EXPECT_GT(transfers.ratio("send_recv", recorded, 2, 2, 2), 1.9);
}

TEST(Samples, WhatIsFarOffIsNoSample) {
  Samples samples;
  for (const int us : {10, 11, 12, 9, 900}) samples.add(Time::from_us(us));
  samples.settle();
  EXPECT_EQ(samples.count(), 4u);
  EXPECT_EQ(samples.median(), Time::from_us(10));
  EXPECT_EQ(samples.draw(5), samples.draw(5));
}

TEST(RankGrid, NumbersRanksAsTheGroupsDo) {
  const Result<RankGrid> grid = RankGrid::of(sample().model, sample().recording);
  ASSERT_TRUE(grid) << grid.error().text();
  EXPECT_EQ(grid->size(), 8u);
  EXPECT_EQ(grid->group(5, bit(Dimension::kTensor)), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(grid->group(5, bit(Dimension::kData)), (std::vector<std::uint32_t>{5, 7}));
  EXPECT_EQ(grid->group(5, bit(Dimension::kPipeline)), (std::vector<std::uint32_t>{1, 5}));
  const RankGrid wider = grid->with(Dimension::kData, 4);
  for (std::uint32_t r = 0; r < wider.size(); ++r) EXPECT_EQ(wider.rank(wider.place(r)), r);
}

TEST(MoreReplicas, TransferOverMoreLinksAndNothingElseChanges) {
  Replay notes;
  const ChangedRun was =
      make_run(sample().set, replaying::make_recording(*sample().set, 0, notes), 0);
  ChangedRun run = was;
  ASSERT_EQ(scale_replicas(sample().model, sample().model.dp * 2, "too many", run), std::nullopt);
  EXPECT_EQ(run.ranks, was.recording->ranks.size() * 2);
  std::size_t longer = 0, same = 0;
  for (std::size_t r = 0; r < run.durations.ranks.size(); ++r) {
    EXPECT_EQ(run.durations.ranks[r].piece, was.durations.ranks[r].piece);
    for (std::size_t t = 0; t < run.durations.ranks[r].transfer.size(); ++t) {
      const Time before = was.durations.ranks[r].transfer[t];
      const Time after = run.durations.ranks[r].transfer[t];
      EXPECT_GE(after, before);
      // A ring of n puts 2 (n - 1) / n of the bytes on each link: at most twice from two ranks on.
      EXPECT_LE(after.ps, 2 * before.ps);
      ++(after > before ? longer : same);
    }
  }
  EXPECT_GT(longer, 0U);
  EXPECT_GT(same, longer);
}

TEST(MoreReplicas, ARunWithoutReplicasHasNoneToAdd) {
  Replay notes;
  ChangedRun run = make_run(sample().set, replaying::make_recording(*sample().set, 0, notes), 0);
  TraceModel alone = sample().model;
  alone.dp = 1;
  EXPECT_TRUE(scale_replicas(alone, 2, "too many", run).has_value());
  EXPECT_EQ(run.ranks, 0U);
}

}  // namespace
}  // namespace flopcast::whatif::structure
