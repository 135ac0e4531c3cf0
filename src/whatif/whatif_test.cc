#include "flopcast/whatif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/sample_run.h"
#include "support/trace_text.h"
#include "whatif/timed_run.h"

namespace flopcast {
namespace {

using test::TraceText;
using test::us;
using testing::HasSubstr;

WhatIf whatif_of(TraceSet set) {
  Result<WhatIf> made = WhatIf::of(std::make_shared<const TraceSet>(std::move(set)));
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return std::move(*made);
}

WhatIfAnswer answer_of(const WhatIf& whatif, const WhatIfChanges& changes) {
  const Result<WhatIfAnswer> answer = whatif.ask(changes);
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
  return answer ? *answer : WhatIfAnswer{};
}

/// Two steps; each launches a product of 100 us and an all-reduce of 40 us, then waits for both.
TraceText two_steps() {
  TraceText text;
  for (int s = 0; s < 2; ++s) {
    const double at = 200.0 * s;
    const int id = 10 * s;
    text.step(s, at, at + 180);
    text.op("aten::mm", at, at + 10).launch(at + 2, at + 6, id + 1);
    text.op("aten::add", at + 10, at + 20).launch(at + 12, at + 16, id + 2);
    text.call("cudaDeviceSynchronize", at + 20, at + 172, id + 3);
    text.kernel("ampere_sgemm_128x64_nn", at + 10, at + 110, 7, id + 1);
    text.kernel("vectorized_elementwise_kernel", at + 110, at + 150, 7, id + 2);
  }
  return text;
}

WhatIfChanges scaled(const std::string& what, double factor) {
  WhatIfChanges changes;
  changes.scale.push_back({what, factor});
  return changes;
}

WhatIfChanges judged(const std::string& step) {
  WhatIfChanges changes;
  changes.steps = {step};
  return changes;
}

Result<Replay> recorded_replay(const TraceSet& set) {
  ReplayOptions options;
  options.lags = LagMode::kRecorded;
  return replay(set, options);
}

TEST(WhatIf, NothingChangedIsTheReplayItself) {
  const WhatIf whatif = whatif_of(two_steps().read());
  const Result<std::pair<WhatIfRun, WhatIfRun>> runs = whatif.runs({});
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  const Result<Replay> replayed = recorded_replay(whatif.set());
  ASSERT_TRUE(replayed.ok());
  for (const WhatIfRun* run : {&runs->first, &runs->second}) {
    EXPECT_EQ(run->replay.replayed.start, replayed->replayed.start);
    EXPECT_EQ(run->replay.replayed.end, replayed->replayed.end);
  }
  const WhatIfAnswer answer = answer_of(whatif, {});
  EXPECT_EQ(answer.before, answer.after);
  EXPECT_EQ(answer.host_before, us(180));
  ASSERT_EQ(answer.steps.size(), 2U);
  // The first GPU step begins with the host's, the second where the first ends.
  EXPECT_EQ(answer.steps[0].after_gpu, us(150));
  EXPECT_EQ(answer.steps[1].after_gpu, us(200));
  EXPECT_EQ(answer.before, us(200));
}

TEST(WhatIf, KernelsAreScaledByClassNameAndExpression) {
  const WhatIf whatif = whatif_of(two_steps().read());
  for (const char* what : {"kernel:gemm", "gemm", "kernel:sgemm", "kernel:/s?gemm_1[0-9]+x/"}) {
    const WhatIfAnswer answer = answer_of(whatif, scaled(what, 0.5));
    EXPECT_TRUE(answer.refused.empty()) << what;
    EXPECT_EQ(answer.steps[0].after_gpu, us(100)) << what;
    EXPECT_EQ(answer.steps[1].after_gpu, us(150)) << what;
  }
  EXPECT_EQ(answer_of(whatif, scaled("kernel:gemm", 1)).after, us(200));
}

TEST(WhatIf, PartsAddUpToTheStep) {
  const WhatIf whatif = whatif_of(two_steps().read());
  const WhatIfAnswer answer = answer_of(whatif, scaled("gemm", 0.5));
  Time before, after;
  for (const WhatIfPart& part : answer.parts) {
    before += part.before;
    after += part.after;
    if (part.part == "gemm") {
      EXPECT_EQ(part.after, us(50));
    }
    if (part.part == "other_kernels") {
      EXPECT_EQ(part.after, us(40));
    }
  }
  EXPECT_EQ(before, answer.before);
  EXPECT_EQ(after, answer.after);
}

TEST(WhatIf, WhatTheRecordingLacksIsRefused) {
  const WhatIf whatif = whatif_of(two_steps().read());
  for (const char* what : {"attention", "kernel:softmax", "collective:all_reduce", "network",
                           "rank:7", "all_to_all"}) {
    const WhatIfAnswer answer = answer_of(whatif, scaled(what, 0.5));
    ASSERT_EQ(answer.refused.size(), 1U) << what;
    EXPECT_THAT(answer.refused[0].change, HasSubstr(what));
    EXPECT_FALSE(answer.refused[0].missing.empty());
  }
}

TEST(WhatIf, ARunLongerThanTheClockIsRefusedAndNeverFaster) {
  const WhatIf whatif = whatif_of(two_steps().read());
  std::vector<WhatIfChanges> asked;
  for (const char* what :
       {"gemm", "kernel:sgemm", "kernel:/.*/", "other_kernels", "host", "rank:0"}) {
    for (const double factor : {1e12, 1e15, 1e18, 1e30, 1e300})
      asked.push_back(scaled(what, factor));
  }
  for (const WhatIfChanges& changes : asked) {
    const Result<WhatIfAnswer> answer = whatif.ask(changes);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    ASSERT_EQ(answer->refused.size(), 1U);
    EXPECT_THAT(answer->refused[0].missing, HasSubstr("longer than the 53 days"));
    EXPECT_FALSE(whatif.runs(changes).ok());
  }
  WhatIfChanges tokens;
  tokens.set.emplace_back("tokens", "1e18");
  EXPECT_FALSE(answer_of(whatif, tokens).refused.empty());
  // What fits is longer, and not shorter.
  const WhatIfAnswer slow = answer_of(whatif, scaled("gemm", 1e9));
  EXPECT_TRUE(slow.refused.empty());
  EXPECT_GT(slow.after, Time::from_ns(90'000LL * 1'000'000'000));
}

TEST(WhatIf, WhatIsWrittenWronglyIsAnError) {
  const WhatIf whatif = whatif_of(two_steps().read());
  const auto text_of = [&](const WhatIfChanges& changes) {
    const Result<WhatIfAnswer> answer = whatif.ask(changes);
    EXPECT_FALSE(answer.ok());
    return answer.ok() ? "" : answer.error().text();
  };
  const auto set = [](const std::string& name, const std::string& value) {
    WhatIfChanges changes;
    changes.set.emplace_back(name, value);
    return changes;
  };
  EXPECT_THAT(text_of(set("layer", "2")), HasSubstr("did you mean 'layers'"));
  EXPECT_THAT(text_of(set("dp", "0")), HasSubstr("at least 1"));
  EXPECT_THAT(text_of(set("tokens", "-1")), HasSubstr("above 0"));
  WhatIfChanges twice = set("dp", "2");
  twice.set.emplace_back("dp", "4");
  EXPECT_THAT(text_of(twice), HasSubstr("twice"));
  EXPECT_THAT(text_of(scaled("gemm", 0)), HasSubstr("above 0"));
  EXPECT_THAT(text_of(scaled("kernel", 2)), HasSubstr("which"));
  EXPECT_THAT(text_of(scaled("host:3", 2)), HasSubstr("colon"));
  EXPECT_THAT(text_of(scaled("kernel:/(/", 2)), HasSubstr("regular expression"));
  EXPECT_THAT(text_of(scaled("rank:one", 2)), HasSubstr("no rank"));
  WhatIfChanges removed;
  removed.remove = {"profilr"};
  EXPECT_THAT(text_of(removed), HasSubstr("profiler"));
  WhatIfChanges scale_only;
  scale_only.scale_only = true;
  EXPECT_THAT(text_of(scale_only), HasSubstr("--set dp"));
  EXPECT_THAT(text_of(judged("7")), HasSubstr("ProfilerStep#1"));
}

TEST(WhatIf, StepsThatAreJudgedCanBeNamed) {
  const WhatIf whatif = whatif_of(two_steps().read());
  const WhatIfAnswer answer = answer_of(whatif, judged("1"));
  EXPECT_EQ(answer.before, us(200));
  EXPECT_EQ(answer.steps.size(), 1U);
}

TEST(WhatIf, CausesAreToldForwardsAndBackwards) {
  const WhatIf whatif = whatif_of(two_steps().read());
  WhatIfChanges changes = scaled("gemm", 0.5);
  changes.scale.push_back({"other_kernels", 2});
  const WhatIfAnswer answer = answer_of(whatif, changes);
  ASSERT_EQ(answer.causes.size(), 2U);
  EXPECT_EQ(answer.causes[0].forwards, us(-50));
  EXPECT_EQ(answer.causes[1].forwards, us(40));
  EXPECT_EQ(answer.causes[0].backwards, us(-50));
  EXPECT_EQ(answer.causes[1].backwards, us(40));
  EXPECT_EQ(answer.after, us(190));
}

TEST(WhatIf, NothingIsForecastFromADamagedRecording) {
  TraceText text;  // a kernel that nothing launched
  text.step(1, 0, 100).op("aten::mm", 0, 10).kernel("gemm", 20, 90, 7);
  const WhatIf whatif = whatif_of(text.read());
  ASSERT_EQ(whatif.damage().size(), 1U);
  for (const WhatIfChanges& changes : {WhatIfChanges(), scaled("gemm", 0.5), scaled("host", 1)}) {
    const WhatIfAnswer answer = answer_of(whatif, changes);
    ASSERT_EQ(answer.refused.size(), 1U);
    EXPECT_THAT(answer.refused[0].missing, HasSubstr(whatif.damage()[0]));
  }
  EXPECT_FALSE(whatif.runs({}).ok());
  EXPECT_FALSE(whatif.sensitivity().ok());
}

TEST(WhatIf, EveryKnobIsTold) {
  for (const WhatIfKnob& knob : whatif_knobs()) EXPECT_FALSE(knob.option.empty()) << knob.name;
}

/// The GPU step of a replay: the usual one of its steps (all ranks have the same) but the first,
/// each the mean over ranks.
Time usual_step(const Replay& replay) {
  std::vector<Time> means;
  for (std::size_t s = 1; s < replay.steps[0].size(); ++s) {
    Time sum;
    for (const auto& rank : replay.steps) sum += *rank[s].replayed_gpu;
    means.push_back(Time{sum.ps / static_cast<std::int64_t>(replay.steps.size())});
  }
  return whatif::usual(means);
}

TEST(WhatIf, TheSampleRunIsReplayedAndAnswered) {
  Result<TraceSet> read = read_traces({test::sample_run()});
  ASSERT_TRUE(read.ok());
  const WhatIf whatif = whatif_of(std::move(*read));
  const Result<Replay> replayed = recorded_replay(whatif.set());
  ASSERT_TRUE(replayed.ok());
  const Time step = usual_step(*replayed);
  for (const char* what :
       {"host", "gemm", "other_kernels", "collective:all_reduce", "network", "rank:3", "copies"}) {
    const WhatIfAnswer same = answer_of(whatif, scaled(what, 1));
    EXPECT_EQ(same.before, step);
    EXPECT_EQ(same.after, step) << what;
  }
  const WhatIfAnswer faster = answer_of(whatif, scaled("gemm", 0.5));
  EXPECT_LT(faster.after, step);
  EXPECT_LE(faster.band.low, faster.after);
  EXPECT_GE(faster.band.high, faster.after);
  EXPECT_FALSE(faster.band.sources.empty());
}

TEST(WhatIf, MoreReplicasThanCanBeWrittenAreStoodForByTheRecordedOnes) {
  const Result<WhatIf> whatif = WhatIf::open({test::sample_run()});
  ASSERT_TRUE(whatif.ok());
  WhatIfChanges changes;
  changes.set.emplace_back("dp", "100000");
  const WhatIfAnswer answer = answer_of(*whatif, changes);
  EXPECT_TRUE(answer.refused.empty());
  EXPECT_EQ(answer.ranks_after, 400'000u);
  EXPECT_GT(answer.after, answer.before);
  // Why it is a rougher answer is told.
  EXPECT_TRUE(std::ranges::any_of(answer.notes, [](const auto& note) {
    return note.what.find("no rank is written out: 400,000 ranks of") == 0 &&
           note.what.find("more than the 2.0 GB") != std::string::npos;
  }));
}

TEST(WhatIf, SensitivitiesAreSortedByWhatCouldBeGained) {
  Result<TraceSet> read = read_traces({test::sample_run()});
  ASSERT_TRUE(read.ok());
  const WhatIf whatif = whatif_of(std::move(*read));
  const auto rows = whatif.sensitivity();
  ASSERT_TRUE(rows.ok());
  const Time step = answer_of(whatif, {}).before;
  Time last = Time::min();
  for (const WhatIfSensitivity& row : *rows) {
    ASSERT_TRUE(row.limit && row.less) << row.part;
    EXPECT_LE(last, *row.limit) << row.part;
    // A rank that ends one step sooner has a longer next one: hence the hundredth.
    EXPECT_LE(*row.less, Time{step.ps + step.ps / 100}) << row.part;
    EXPECT_LE(*row.limit, Time{row.less->ps + row.less->ps / 100}) << row.part;
    EXPECT_GT(row.work, Time{}) << row.part;
    last = *row.limit;
    if (row.part == "kernel:gemm") {
      EXPECT_EQ(*row.less, answer_of(whatif, scaled("kernel:gemm", 0.9)).after);
    }
  }
}

TEST(WhatIf, WorthIsWhatQuestionsAnswer) {
  for (const bool sample : {true, false}) {
    Result<TraceSet> read =
        sample ? read_traces({test::sample_run()}) : Result<TraceSet>(two_steps().read());
    ASSERT_TRUE(read.ok());
    const WhatIf whatif = whatif_of(std::move(*read));
    const auto worth = whatif.worth();
    ASSERT_TRUE(worth.ok());
    EXPECT_EQ(worth->gpu_step, answer_of(whatif, {}).before);
    const auto rows = whatif.sensitivity();
    ASSERT_TRUE(rows.ok());
    for (const WorkSensitivity& part : worth->parts) {
      EXPECT_EQ(*part.gpu_step, answer_of(whatif, scaled(part.part, 0.9)).after) << part.part;
      const auto row = std::find_if(rows->begin(), rows->end(), [&](const WhatIfSensitivity& r) {
        return r.part.substr(r.part.find(':') + 1) == part.part;
      });
      ASSERT_NE(row, rows->end()) << part.part;
      EXPECT_EQ(part.limit, row->limit);
      EXPECT_EQ(part.work, row->work);
    }
    if (!sample) continue;
    ASSERT_TRUE(worth->late && worth->late->gpu_step && worth->straggler);
    WhatIfChanges named, best;
    named.remove = {"straggler:" + std::to_string(worth->late->rank)};
    best.remove = {"straggler"};
    EXPECT_EQ(*worth->late->gpu_step, answer_of(whatif, named).after);
    EXPECT_EQ(worth->straggler->rank, 5);
    EXPECT_EQ(*worth->straggler->gpu_step, answer_of(whatif, best).after);
  }
}

TEST(WhatIf, AReplayOfAnotherRunIsWorthNothingAndSaysWhy) {
  const TraceSet set = two_steps().read();
  ReplayOptions options;
  options.baseline = Baseline::kNoInterStream;
  Replay other = *replay(set, options);
  tell_worth(set, options, other);
  EXPECT_FALSE(other.sensitivity);
  EXPECT_THAT(other.no_sensitivity, HasSubstr("another run"));
  Replay same = *replay(set);
  tell_worth(set, {}, same);
  EXPECT_TRUE(same.sensitivity);
}

}  // namespace
}  // namespace flopcast
