// Points of a sweep: to lines and back, the front, tables and the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "flopcast/report/explore.h"
#include "report/mapping/testing.h"
#include "support/shared_traces.h"

namespace flopcast::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ExploreRow made_row(std::uint64_t index, double step, double price, double power) {
  ExploreRow row;
  row.asked = "a made sweep";
  row.index = index;
  row.of = 4;
  row.sweep = {{"sram", std::to_string(index) + "MB"}, {"chip", "made"}};
  row.fits = true;
  row.why = "limited by memory";
  row.step_s = row.bound_s = step;
  row.utilisation = 0.5;
  row.samples_per_second = 1 / step;
  row.flop_per_s = 1e15 / step;
  row.price_usd = price;
  row.power_w = power;
  row.shape = "TP 2 x PP 1 x DP 1";
  row.memory_share = 1;
  return row;
}

std::vector<ExploreRow> made_rows() {
  std::vector<ExploreRow> rows = {made_row(0, 4, 100, 10), made_row(1, 2, 200, 20),
                                  made_row(2, 5, 300, 30), made_row(3, 1, 400, 40)};
  rows[3].fits = false;
  rows[3].problem = "weights are 3 GB short";
  return rows;
}

TEST(ExploreReport, TheFrontHasWhatNothingBeats) {
  EXPECT_THAT(explore_front(made_rows()), ElementsAre(true, true, false, false));
}

TEST(ExploreReport, TextNamesTheBestAndTheFront) {
  const std::string text = explore_text(made_rows());
  EXPECT_THAT(text, HasSubstr("3 of 4 points fit"));
  EXPECT_THAT(text, HasSubstr("fastest                2.00 s: sram 1MB, chip made"));
  EXPECT_THAT(text, HasSubstr("most FLOP/s a dollar   4.00 s: sram 0MB"));
  EXPECT_THAT(text, HasSubstr("limited by memory"));
  EXPECT_THAT(text, HasSubstr("does not fit"));
  EXPECT_EQ(explore_text({}), "No points.\n");
}

TEST(ExploreReport, ManyPointsLeaveTheFront) {
  std::vector<ExploreRow> rows(200, made_row(0, 4, 100, 10));
  for (std::size_t i = 1; i < rows.size(); ++i)
    rows[i] = made_row(i, 5 + static_cast<double>(i), 200, 20);
  const std::string text = explore_text(rows);
  EXPECT_THAT(text, HasSubstr("The front"));
  EXPECT_THAT(text, Not(HasSubstr("77MB")));
}

TEST(ExploreReport, CsvHasEveryPoint) {
  const std::string csv = explore_csv(made_rows());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_EQ(csv.rfind("sram,chip,asked,index,of,fits,", 0), 0u);
  EXPECT_THAT(csv, HasSubstr("front,problem\n"));
  EXPECT_THAT(csv, HasSubstr(",true,\n"));
  EXPECT_THAT(csv, HasSubstr(",false,weights are 3 GB short\n"));
}

TEST(ExploreReport, PageHoldsEveryPointAndNothingEndsItsScript) {
  std::vector<ExploreRow> rows = made_rows();
  rows[0].why = "</script>";
  const std::string page = explore_html(rows, "made <title>");
  EXPECT_THAT(page, HasSubstr("<title>made &lt;title> · Flopcast explore</title>"));
  const std::string open = "id=\"data\">";
  const std::size_t from = page.find(open) + open.size();
  const json data = json::parse(page.substr(from, page.find("</script>", from) - from));
  ASSERT_EQ(data["points"].size(), 4u);
  EXPECT_EQ(data["points"][0]["why"], "</script>");
  EXPECT_EQ(data["points"][1]["front"], true);
  EXPECT_EQ(data["points"][2]["front"], false);
  EXPECT_EQ(data["points"][3]["problem"], "weights are 3 GB short");
}

ExploreRow random_row() {
  const auto real = [] {
    return static_cast<double>(*rc::gen::arbitrary<std::int32_t>()) / 7.0 + 1e-9;
  };
  ExploreRow row = made_row(*rc::gen::inRange<std::uint64_t>(0, 1000), real(), real(), real());
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

RC_GTEST_PROP(ExploreReport, LinesReadBackAsTheSameRows, ()) {
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

TEST(ExploreReport, LinesOfOthersAreNamed) {
  const std::string good = explore_json_line(made_row(0, 1, 2, 3));
  for (const char* wrong : {"{", "[]", "{\"asked\": 1}", "{\"asked\": \"x\", \"index\": -1}"}) {
    const auto rows = read_explore_rows(good + wrong + '\n', "points.jsonl");
    ASSERT_FALSE(rows.ok()) << wrong;
    EXPECT_THAT(rows.error().text(), HasSubstr("points.jsonl: line 2"));
    EXPECT_EQ(rows.error().code, ErrorCode::kBadInput);
  }
}

TEST(ExploreReport, LinesOfTwoSweepsAreRefused) {
  ExploreRow other = made_row(1, 1, 2, 3);
  other.sweep.emplace_back("link", "1x");
  const auto rows =
      read_explore_rows(explore_json_line(made_row(0, 1, 2, 3)) + explore_json_line(other), "f");
  ASSERT_FALSE(rows.ok());
  EXPECT_THAT(rows.error().text(), HasSubstr("f: line 2: sweeps other things"));
}

TEST(ExploreReport, ARowIsTheMappingOfItsPoint) {
  const std::vector<ExploreAxis> axes = {{"sram", {"1MB", "2MB"}}};
  ExplorePoint point;
  point.index = 1;
  point.values = {"2MB"};
  point.mapping = test::made_mapping().mapping;
  point.chips = 2;
  point.peak = {200e12};
  point.bottleneck = "compute";
  point.gains = {{"sram", 1.5}};
  const ExploreRow row = explore_row("asked", axes, 2, point);
  EXPECT_EQ(row.sweep, (std::vector<std::pair<std::string, std::string>>{{"sram", "2MB"}}));
  EXPECT_TRUE(row.fits);
  EXPECT_EQ(row.step_s, 0.52);
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

TEST(ExploreReport, WordsTellApartWhatGivesOtherRows) {
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

TEST(ExploreReport, EveryFieldIsDescribed) {
  const std::string reference = test::read_text("docs/reference/json.md");
  if (reference.empty()) GTEST_SKIP() << "not run in the repository's root";
  for (const ExploreRow& row : made_rows()) {
    const json line = json::parse(explore_json_line(row));
    for (const auto& [key, value] : line.items()) {
      EXPECT_THAT(reference, HasSubstr('`' + key + '`'));
    }
  }
}

}  // namespace
}  // namespace flopcast::report
