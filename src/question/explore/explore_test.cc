// Rows of a sweep: from its points, to lines and back, and those that nothing beats.
#include "flopcast/question/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

namespace flopcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ExploreRow plain_row(std::uint64_t index, double step, double price, double power) {
  ExploreRow row;
  row.asked = "a made sweep";
  row.index = index;
  row.of = 4;
  row.sweep = {{"sram", "1MB"}};
  row.fits = true;
  row.step_s = row.bound_s = step;
  row.samples_per_second = 1 / step;
  row.price_usd = price;
  row.power_w = power;
  return row;
}

TEST(ExploreRows, TheFrontHasWhatNothingBeats) {
  std::vector<ExploreRow> rows = {plain_row(0, 4, 100, 10), plain_row(1, 2, 200, 20),
                                  plain_row(2, 5, 300, 30), plain_row(3, 1, 400, 40)};
  rows[3].fits = false;
  EXPECT_THAT(explore_front(rows), ElementsAre(true, true, false, false));
}

TEST(ExploreRows, OfEqualPointsTheFrontHasTheFirst) {
  std::vector<ExploreRow> rows = {plain_row(0, 4, 100, 10), plain_row(1, 2, 200, 20),
                                  plain_row(2, 4, 100, 10), plain_row(3, 2, 200, 20)};
  EXPECT_THAT(explore_front(rows), ElementsAre(true, true, false, false));
}

TEST(ExploreRows, OfEqualPointsTheCheapestIsTheBest) {
  std::vector<ExploreRow> rows = {plain_row(0, 2, 300, 30), plain_row(1, 2, 0, 5),
                                  plain_row(2, 2, 200, 30), plain_row(3, 2, 200, 20),
                                  plain_row(4, 1, 1, 1)};
  rows[4].fits = false;
  const std::vector<ExploreBest> best = explore_best(rows);
  ASSERT_FALSE(best.empty());
  EXPECT_EQ(best[0].measure, "step_s");
  EXPECT_EQ(best[0].row, 3u);
  EXPECT_EQ(best[0].equals, 3u);
  for (ExploreRow& row : rows) row.fits = false;
  EXPECT_TRUE(explore_best(rows).empty());
}

ExploreRow random_row() {
  const auto real = [] {
    return static_cast<double>(*rc::gen::arbitrary<std::int32_t>()) / 7.0 + 1e-9;
  };
  ExploreRow row = plain_row(*rc::gen::inRange<std::uint64_t>(0, 1000), real(), real(), real());
  row.asked = *rc::gen::nonEmpty<std::string>(
      rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')));
  row.exact = *rc::gen::arbitrary<bool>();
  row.fits = *rc::gen::arbitrary<bool>();
  row.utilisation = real();
  row.compute_share = real();
  if (*rc::gen::arbitrary<bool>()) {
    row.gains = {{"sram", real()}, {"peak", std::numeric_limits<double>::infinity()}};
  }
  if (row.fits) return row;
  ExploreRow unfit;
  unfit.asked = row.asked;
  unfit.index = row.index;
  unfit.of = row.of;
  unfit.sweep = row.sweep;
  unfit.why = row.why;
  unfit.gains = row.gains;
  unfit.problem = "too big: \"quoted\"\n";
  return unfit;
}

RC_GTEST_PROP(ExploreRows, LinesReadBackAsTheSameRows, ()) {
  const auto rows = *rc::gen::container<std::vector<int>>(rc::gen::arbitrary<int>());
  std::vector<ExploreRow> all;
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 6); ++i) {
    all.push_back(random_row());
    text += explore_json_line(all.back());
  }
  RC_ASSERT(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) == all.size());
  const auto back = read_explore_rows(text, "here");
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == all);
}

TEST(ExploreRows, LinesOfOthersAreNamed) {
  const std::string good = explore_json_line(plain_row(0, 1, 2, 3));
  for (const char* wrong : {"{", "[]", "{\"asked\": 1}", "{\"asked\": \"x\", \"index\": -1}"}) {
    const auto rows = read_explore_rows(good + wrong + '\n', "points.jsonl");
    ASSERT_FALSE(rows.ok()) << wrong;
    EXPECT_THAT(rows.error().text(), HasSubstr("points.jsonl: line 2"));
    EXPECT_EQ(rows.error().code, ErrorCode::kBadInput);
  }
}

TEST(ExploreRows, LinesOfTwoSweepsAreRefused) {
  ExploreRow other = plain_row(1, 1, 2, 3);
  other.sweep.emplace_back("link", "1x");
  const auto rows =
      read_explore_rows(explore_json_line(plain_row(0, 1, 2, 3)) + explore_json_line(other), "f");
  ASSERT_FALSE(rows.ok());
  EXPECT_THAT(rows.error().text(), HasSubstr("f: line 2: sweeps other things"));
}

TEST(ExploreRows, ARowIsTheMappingOfItsPoint) {
  const std::vector<ExploreAxis> axes = {{"sram", {"1MB", "2MB"}}};
  ExplorePoint point;
  point.index = 1;
  point.values = {"2MB"};
  Mapping& mapping = point.mapping.emplace();
  mapping.step = {0.52};
  mapping.shape.degree = {2, 1, 1};
  mapping.partitions.resize(2);
  mapping.partitions[0].time = {3e-3};
  mapping.partitions[0].limit = MappingLimit::kCompute;
  mapping.partitions[1].time = {1e-3};
  mapping.partitions[1].limit = MappingLimit::kMemory;
  point.chips = 2;
  point.peak = {200e12};
  point.bottleneck = "compute";
  point.gains = {{"sram", 1.5}};
  const ExploreRow row = explore_row("asked", axes, 2, point);
  EXPECT_EQ(row.sweep, (std::vector<std::pair<std::string, std::string>>{{"sram", "2MB"}}));
  EXPECT_TRUE(row.fits);
  EXPECT_EQ(row.step_s, 0.52);
  EXPECT_EQ(row.shape, "TP 2 x PP 1 x DP 1");
  EXPECT_EQ(row.flop_per_s, point.achieved().value);
  EXPECT_DOUBLE_EQ(row.compute_share, 0.75);
  EXPECT_DOUBLE_EQ(row.memory_share, 0.25);
  EXPECT_EQ(row.why, "compute");
  EXPECT_EQ(row.gains, (std::vector<std::pair<std::string, double>>{{"sram", 1.5}}));
  point.mapping.reset();
  point.refusal = {ErrorCode::kTooLarge, "memory", "weights are short", ""};
  const ExploreRow unfit = explore_row("asked", axes, 2, point);
  EXPECT_FALSE(unfit.fits);
  EXPECT_THAT(unfit.problem, HasSubstr("weights are short"));
}

TEST(ExploreRows, WordsTellApartWhatGivesOtherRows) {
  MappingQuestion question;
  question.workload = "gpt3-175b";
  question.on = "8 x sn10";
  std::vector<std::string> all = {explore_words(question, {"sram=1x,2x"}, false),
                                  explore_words(question, {"sram=1x,4x"}, false),
                                  explore_words(question, {"sram=1x,2x"}, true)};
  const auto changed = [&](auto&& change) {
    MappingQuestion other = question;
    change(other);
    all.push_back(explore_words(other, {"sram=1x,2x"}, false));
  };
  changed([](MappingQuestion& q) { q.search.degree[1] = 2; });
  changed([](MappingQuestion& q) { q.search.degree[2] = 2; });
  changed([](MappingQuestion& q) { q.search.tile = 2; });
  changed([](MappingQuestion& q) { q.search.microbatch = 2; });
  changed([](MappingQuestion& q) { q.search.mix_passes = true; });
  changed([](MappingQuestion& q) { q.search.gap = 0.1; });
  changed([](MappingQuestion& q) { q.pins = {"q=0"}; });
  changed([](MappingQuestion& q) { q.forbids = {"q=0"}; });
  changed([](MappingQuestion& q) { q.shardings = {"q=m"}; });
  changed([](MappingQuestion& q) { q.mode = "paper"; });
  changed([](MappingQuestion& q) { q.utilisation = 0; });
  changed([](MappingQuestion& q) { q.overlap = "none"; });
  changed([](MappingQuestion& q) { q.system.changes = {"sram=2x"}; });
  changed([](MappingQuestion& q) { q.system.precision = DataType::kFp8; });
  changed([](MappingQuestion& q) { q.system.topology = "ring:8"; });
  changed([](MappingQuestion& q) { q.dataflow.sequence = 4096; });
  changed([](MappingQuestion& q) { q.dataflow.unroll = 2; });
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace flopcast
