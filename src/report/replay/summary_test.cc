#include "report/replay/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text/utf8.h"
#include "flopcast/report/sets.h"
#include "report/replay/testing.h"
#include "report/replay/verdict.h"

namespace flopcast::report {
namespace {

class SummaryOfMadeRun : public testing::Test {
 protected:
  TraceSet set_ = test::made_set();
  Replay replay_ = test::made_replay(set_);
};

TEST_F(SummaryOfMadeRun, StepsAndErrors) {
  const Summary s = summarise(set_, replay_);
  ASSERT_EQ(s.ranks.size(), 2u);
  const StepSummary& step = s.ranks[0].steps.at(0);
  EXPECT_EQ(step.host.measured, Time::from_us(44));
  EXPECT_NEAR(*step.error, 2.0 / 44, 1e-12);
  EXPECT_NEAR(*step.gpu_error, -1.0 / 40, 1e-12);
  EXPECT_NEAR(s.quality.max_abs_error, 2.0 / 44, 1e-12);
  EXPECT_NEAR(s.quality.mean_abs_gpu_error, 1.0 / 40, 1e-12);
  EXPECT_EQ(s.quality.steps, 2u);
}

TEST_F(SummaryOfMadeRun, BreakdownWithinTheStepAddsUp) {
  const Summary s = summarise(set_, replay_);
  const Breakdown& b = s.ranks[1].steps[0].parts.measured;
  EXPECT_EQ(b.exposed_compute, Time::from_us(15));
  EXPECT_EQ(b.exposed_communication, Time::from_us(15));
  EXPECT_EQ(b.other, Time::from_us(14));
  EXPECT_EQ(b.idle, Time::from_us(12));
}

TEST_F(SummaryOfMadeRun, CommunicationAloneIsSplitByWhetherTheLastRankHasCome) {
  const Summary s = summarise(set_, replay_);
  const Breakdown& early = s.ranks[0].parts.measured;
  EXPECT_EQ(early.exposed_communication, Time::from_us(20));
  EXPECT_EQ(early.waiting, Time::from_us(5));
  EXPECT_EQ(s.ranks[1].parts.measured.waiting, Time{});
  // Half of the collective is hidden: what waits in the other half counts.
  replay_.collectives[0].members[1].recorded_wait = Time::from_us(15);
  const Breakdown late = summarise(set_, replay_).ranks[1].parts.measured;
  EXPECT_EQ(late.waiting, late.exposed_communication);
}

TEST_F(SummaryOfMadeRun, TheVerdictSaysWhatBindsWhereTimeGoesAndWhatIsWorthMost) {
  const std::vector<std::string> verdict = verdict_of(make_set_result(set_, replay_));
  ASSERT_EQ(verdict.size(), 3U);
  EXPECT_EQ(verdict[0],
            "bound by computation on the GPU: 36.6 % of the critical path, 53.7 % of which runs on "
            "rank 1");
  EXPECT_EQ(verdict[1],
            "of the GPUs' time 39.0 % computes, 39.0 % transfers with no compute beside it, 6.5 % "
            "waits for another rank (6.5 % for its GPU, 0.0 % for its host), 13.0 % is idle");
  EXPECT_EQ(verdict[2],
            "worth most of the GPU step of 39.0 us: GPU: matrix products, -5.13 % with a tenth "
            "less of it, "
            "-51.28 % with none: lower precision, shapes that fill the GPU, or a quicker GPU");
  replay_.sensitivity->parts.clear();
  replay_.critical_path.pieces.clear();
  EXPECT_EQ(verdict_of(make_set_result(set_, replay_)).size(), 1U);
}

TEST_F(SummaryOfMadeRun, StartErrorIsAShareOfTheMeanWindow) {
  // All GPU rows start 1 us late; windows are 40 and 37 us.
  EXPECT_NEAR(summarise(set_, replay_).quality.start_error_median, 1.0 / 38.5, 1e-12);
}

TEST_F(SummaryOfMadeRun, PathSharesAddUpToItsLength) {
  const PathSummary path = summarise_path(set_, replay_);
  Time sum;
  for (const PathShare& share : path.classes) sum += share.time;
  EXPECT_EQ(path.length, Time::from_us(41));
  EXPECT_EQ(sum, path.length);
  EXPECT_EQ(path.rank_changes, 1u);
  EXPECT_EQ(path.classes.front().name, "communication");
  Time by_rank;
  for (const PathShare& share : path.ranks) by_rank += share.time;
  EXPECT_EQ(by_rank, path.length);
}

TEST_F(SummaryOfMadeRun, WhatLiesBeforeThePathsLastPinnedStartIsPinned) {
  replay_.critical_path.pieces[2].pinned = true;  // 4 to 19 us
  const PathSummary path = summarise_path(set_, replay_);
  EXPECT_EQ(path.pinned_starts, 1u);
  EXPECT_EQ(path.pinned, Time::from_us(19));
  EXPECT_EQ(path.last_rank, 1);
  EXPECT_EQ(path.window, Time::from_us(41));
  const std::string text = replay_text(set_, replay_);
  EXPECT_NE(text.find("runs on rank 1 (53.7 %), rank 0 (46.3 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("pinned: its first 46.3 %, up to the last of 1 start as recorded"),
            std::string::npos);
}

TEST_F(SummaryOfMadeRun, TheStragglerIsNamed) {
  replay_.critical_path.pieces[2].trace = 1;  // 15 us of the path's 32
  const Summary s = summarise(set_, replay_);
  ASSERT_TRUE(s.straggler);
  EXPECT_EQ(s.straggler->rank, 1);
  EXPECT_EQ(s.straggler->last, 1u);
  EXPECT_EQ(s.straggler->collectives, 1u);
  EXPECT_EQ(s.straggler->waited, Time::from_us(5));
  EXPECT_EQ(s.straggler->share_of_waiting, 1.0);
  EXPECT_NEAR(s.straggler->share_of_path, 30.0 / 32, 1e-12);
  EXPECT_NE(replay_text(set_, replay_).find("straggler: rank 1: 93.8 %"), std::string::npos);
  const auto json = nlohmann::json::parse(replay_json(set_, replay_)).at("sets").at(0);
  EXPECT_EQ(json.at("straggler").at("rank"), 1);
  EXPECT_EQ(json.at("late").at(0).at("rank"), 1);
  EXPECT_EQ(json.at("late").at(0).at("waited_s"), 5e-6);
}

TEST_F(SummaryOfMadeRun, WithoutMostOfThePathOrWaitingThereIsNoStraggler) {
  ASSERT_FALSE(summarise(set_, replay_).straggler);  // 17 us of the path on rank 0, 15 on rank 1
  replay_.critical_path.pieces.back().start -= Time::from_us(5);
  ASSERT_TRUE(summarise(set_, replay_).straggler);
  // After a start that is as recorded, 20 us on rank 1; but the others hardly wait.
  replay_.critical_path.pieces[2].pinned = true;
  ASSERT_TRUE(summarise(set_, replay_).straggler);
  for (auto& member : replay_.collectives[0].members) member.replayed_wait = Time{};
  EXPECT_FALSE(summarise(set_, replay_).straggler);
  EXPECT_TRUE(
      nlohmann::json::parse(replay_json(set_, replay_)).at("sets").at(0).at("straggler").is_null());
}

TEST_F(SummaryOfMadeRun, SensitivityIsToldInTextAndJson) {
  const std::string text = replay_text(set_, replay_);
  EXPECT_NE(text.find("What would shorten the GPU step, 39.0 us"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU: matrix products"), std::string::npos);
  EXPECT_NE(text.find("-5.13 %"), std::string::npos);
  EXPECT_NE(text.find("cannot finish"), std::string::npos);
  const auto table =
      nlohmann::json::parse(replay_json(set_, replay_)).at("sets").at(0).at("sensitivity");
  EXPECT_DOUBLE_EQ(table.at("less_time"), 0.1);
  EXPECT_EQ(table.at("parts").at(1).at("title"), "all-reduce");
  EXPECT_NEAR(table.at("parts").at(0).at("change"), -2.0 / 39, 1e-9);
  EXPECT_TRUE(table.at("parts").at(2).at("change").is_null());
  EXPECT_NEAR(table.at("parts").at(0).at("limit_change"), -20.0 / 39, 1e-9);
  EXPECT_TRUE(table.at("late").is_null());
}

TEST_F(SummaryOfMadeRun, WhatARankLikeItsEqualsBringsIsToldWithTheReason) {
  replay_.critical_path.pieces[2].trace = 1;
  replay_.sensitivity->late = {1, Time::from_us(38), 0, Time::from_us(4)};
  const std::string words = verdict_of(make_set_result(set_, replay_))[2];
  EXPECT_NE(words.find("made like its equals the GPU step changes by -2.56 %: rank 0 is then last"),
            std::string::npos)
      << words;
}

TEST_F(SummaryOfMadeRun, WhereNothingWasAskedTheVerdictSaysWhy) {
  replay_.sensitivity.reset();
  replay_.no_sensitivity = "this is a replay of another run than was recorded";
  EXPECT_EQ(verdict_of(make_set_result(set_, replay_)).back(),
            "what each part of the work is worth is not told: this is a replay of another run than "
            "was recorded");
}

/// 5 us of lateness: rank 1 had its gemm 5 us later, and no work before it; or a gemm that took 5 us longer.
TEST_F(SummaryOfMadeRun, WaitingIsForTheHostByAsMuchAsTheLastGpuStoodIdleLonger) {
  // Both GPUs begin with the gemm, so that idle time counts from there: none is longer than the other's.
  EXPECT_EQ(summarise(set_, replay_).ranks[0].parts.measured.waiting_for_host, Time{});
  // An earlier start of rank 1's GPU, after which it has nothing to do for 5 us.
  test::add_row(set_, set_.traces[1], {"warm", Category::kKernel, 0, 1, 7});
  replay_ = test::made_replay(set_);
  const Summary late = summarise(set_, replay_);
  EXPECT_EQ(late.ranks[0].parts.measured.waiting, Time::from_us(5));
  EXPECT_EQ(late.ranks[0].parts.measured.waiting_for_host, Time::from_us(4));
  EXPECT_EQ(late.ranks[0].parts.measured.waiting_for_rank(), Time::from_us(1));
  EXPECT_EQ(late.late[0].for_host, Time::from_us(4));
  // Receives wait for another rank's work.
  replay_.collectives[0].point_to_point = true;
  const Breakdown passed = summarise(set_, replay_).ranks[0].parts.measured;
  EXPECT_EQ(passed.waiting_for_stage, Time::from_us(1));
  EXPECT_EQ(passed.waiting_for_rank(), Time{});
  EXPECT_TRUE(summarise(set_, replay_).late.empty());
}

TEST_F(SummaryOfMadeRun, EveryLineFitsATerminal) {
  replay_.sensitivity->late = {1, Time::from_us(38), 0, Time::from_us(4)};
  set_.traces[1].anomalies.add("damaged_tail", [] {
    return "the text ends: " + std::string(40, 'x') + ' ' + std::string(60, 'y');
  });
  std::istringstream lines(replay_text(set_, replay_));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST_F(SummaryOfMadeRun, NoErrorOfAGpuThatWasNotMeasured) {
  for (auto& steps : replay_.steps) {
    for (StepResult& step : steps) step.measured_gpu = step.replayed_gpu = std::nullopt;
  }
  const std::string text = replay_text(set_, replay_);
  EXPECT_NE(text.find("|error| of host steps"), std::string::npos);
  EXPECT_EQ(text.find("|error| of GPU steps"), std::string::npos);
  const auto json = nlohmann::json::parse(replay_json(set_, replay_));
  for (const auto& summary : {json.at("summary"), json.at("sets").at(0).at("summary")}) {
    EXPECT_TRUE(summary.at("mean_abs_gpu_step_error").is_null());
    EXPECT_TRUE(summary.at("max_abs_gpu_step_error").is_null());
    EXPECT_TRUE(summary.at("mean_abs_error").is_number());
  }
  EXPECT_NE(sets_text({make_set_result(set_, replay_)}).find("GPU -; worst step"),
            std::string::npos);
}

TEST_F(SummaryOfMadeRun, AFileCutShortIsSaidFirst) {
  set_.traces[1].anomalies.add("damaged_tail", [] { return "the text ends (byte 9)"; });
  const std::string text = replay_text(set_, replay_);
  const std::size_t said = text.find("CUT SHORT");
  ASSERT_NE(said, std::string::npos);
  EXPECT_LT(said, text.find("Steps: measured against replayed"));
  const auto json = nlohmann::json::parse(replay_json(set_, replay_));
  EXPECT_EQ(json.at("sets").at(0).at("truncated").at(0), "made/rank1.json: the text ends (byte 9)");
  EXPECT_NE(replay_html(set_, replay_).find("made/rank1.json: the text ends (byte 9)"),
            std::string::npos);
}

TEST_F(SummaryOfMadeRun, CollectivesSumOverMembers) {
  const std::vector<CollectiveSummary> list = summarise_collectives(set_, replay_);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].ranks, 2u);
  EXPECT_EQ(list[0].wait.measured, Time::from_us(5));
  EXPECT_EQ(list[0].transfer.replayed, Time::from_us(30));
}

TEST_F(SummaryOfMadeRun, TopKernelsByTotalTime) {
  const std::vector<KernelTotal> top = top_kernels(set_, replay_, 1);
  ASSERT_EQ(top.size(), 1u);
  EXPECT_EQ(top[0].name, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_EQ(top[0].count, 2u);
  EXPECT_EQ(top[0].recorded, Time::from_us(35));
}

TEST_F(SummaryOfMadeRun, JsonHasTheFieldsOfTheContract) {
  const auto json = nlohmann::json::parse(replay_json(set_, replay_));
  const auto& step = json.at("sets").at(0).at("ranks").at(1).at("steps").at(0);
  EXPECT_DOUBLE_EQ(step.at("measured_s"), 44e-6);
  EXPECT_DOUBLE_EQ(step.at("replayed_s"), 46e-6);
  EXPECT_NEAR(step.at("error"), 2.0 / 44, 1e-9);
  EXPECT_NEAR(step.at("gpu_step_error"), -1.0 / 40, 1e-9);
  EXPECT_EQ(step.at("mode"), "typical");
  EXPECT_DOUBLE_EQ(step.at("start_error_median_s"), 1e-6);
  for (const char* run : {"measured", "replayed"}) {
    for (const char* part : {"exposed_compute", "exposed_communication", "overlapped", "other"}) {
      EXPECT_TRUE(step.at("breakdown_s").at(run).at(part).is_number());
    }
  }
  EXPECT_EQ(json.at("sets").at(0).at("edges").at("launch").at("count"), 2);
  EXPECT_EQ(json.at("sets").at(0).at("edges").at("launch").at("contradicted"), 0);
  EXPECT_TRUE(json.at("sets").at(0).at("anomalies").is_array());
  EXPECT_TRUE(json.at("summary").at("mean_abs_error").is_number());
  EXPECT_TRUE(json.at("summary").at("max_abs_error").is_number());
}

TEST_F(SummaryOfMadeRun, SameInputSameBytes) {
  EXPECT_EQ(replay_json(set_, replay_), replay_json(set_, replay_));
  EXPECT_EQ(replay_text(set_, replay_), replay_text(set_, replay_));
}

TEST_F(SummaryOfMadeRun, TextNamesModeAndWhatItRestsOn) {
  const std::string text = replay_text(set_, replay_);
  EXPECT_NE(text.find("lags: typical"), std::string::npos);
  EXPECT_NE(text.find("kernel durations (5 tasks)"), std::string::npos);
  EXPECT_EQ(text.find("DAMAGED"), std::string::npos);
}

TEST_F(SummaryOfMadeRun, DamageIsSaidFirstAndLeftOutOfTheMean) {
  replay_.damage = {"another process shared the GPU"};
  EXPECT_NE(replay_text(set_, replay_).find("DAMAGED RECORDING"), std::string::npos);
  const Overall all = summarise_sets({make_set_result(set_, replay_)});
  EXPECT_EQ(all.damaged, 1u);
  EXPECT_EQ(all.sets, 0u);
  EXPECT_EQ(all.max_abs_error, 0);
}

TEST_F(SummaryOfMadeRun, OneBadSetDoesNotLoseTheOthers) {
  const std::vector<SetResult> sets = {
      make_failed_result("bad", {ErrorCode::kBadInput, "bad.json", "not a trace", "name another"}),
      make_set_result(set_, replay_)};
  const auto json = nlohmann::json::parse(sets_json(sets));
  EXPECT_EQ(json.at("sets").at(0).at("failure").at("what"), "not a trace");
  EXPECT_EQ(json.at("sets").at(1).at("name"), "made");
  EXPECT_EQ(json.at("summary").at("failed_sets"), 1);
  EXPECT_NE(sets_text(sets).find("bad: not replayed"), std::string::npos);
}

TEST_F(SummaryOfMadeRun, DproSaysNothingOfTheHost) {
  replay_.baseline = Baseline::kDpro;
  const Summary s = summarise(set_, replay_);
  EXPECT_FALSE(s.ranks[0].steps[0].error);
  EXPECT_TRUE(s.ranks[0].steps[0].gpu_error);
}

}  // namespace
}  // namespace flopcast::report
