// Points of a sweep as tables and the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "flopcast/report/explore.h"
#include "support/temporary_folder.h"

namespace flopcast::report {
namespace {

using nlohmann::json;
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

}  // namespace
}  // namespace flopcast::report
