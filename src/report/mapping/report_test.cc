// Mappings as text, JSON, CSV and a page; the same numbers in all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/mapping/testing.h"
#include "support/temporary_folder.h"

namespace flopcast::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(MappingReport, TextTellsAnswerProofPartitionsAndRoofs) {
  const std::string text = mapping_text(test::made_mapping());
  EXPECT_THAT(text, HasSubstr("a <made> graph on 2 x made: 5 kernels, 5 uses of tensors"));
  EXPECT_THAT(text, HasSubstr("Step 520.00 ms: optimal"));
  EXPECT_THAT(text, HasSubstr("TP 2 x PP 1 x DP 1; microbatch 1 (32 of them a step)"));
  EXPECT_THAT(text, HasSubstr("75.0 % by compute, 25.0 % by memory"));
  EXPECT_THAT(text, HasSubstr("0: in up gelu"));
  EXPECT_THAT(text, HasSubstr("25.0 %"));  // 80 of 320 MB
  EXPECT_THAT(text, HasSubstr("400 TFLOP/s at 4,000 FLOP a byte: 2.0 times the peak"));
  EXPECT_THAT(text, HasSubstr("20,000 USD, 1500 W"));
  EXPECT_THAT(text, HasSubstr("a data sheet"));
  EXPECT_THAT(text, HasSubstr("not in this model: shared_tensors"));
}

TEST(MappingReport, AnUnprovenAnswerSaysItsGap) {
  MappingReport report = test::made_mapping();
  report.mapping.exact = false;
  report.mapping.bound = report.mapping.step * 0.998;
  EXPECT_THAT(mapping_text(report), HasSubstr("gap 0.2 %: no mapping takes less than 518.96 ms"));
}

TEST(MappingReport, TheStepsPartsSumToIt) {
  // 32 x 16 ms through the stage and 8 ms of the optimiser are 520 ms: there is no bubble.
  const std::string text = mapping_text(test::made_mapping());
  EXPECT_THAT(text, HasSubstr("98.5 %"));
  EXPECT_THAT(text, HasSubstr("optimiser"));
  EXPECT_THAT(text, Not(HasSubstr("fills and drains")));
  MappingReport report = test::made_mapping();
  report.mapping.step = {0.65};
  EXPECT_THAT(mapping_text(report), HasSubstr("fills and drains"));
  EXPECT_THAT(mapping_text(report), HasSubstr("130.00 ms"));
}

TEST(MappingReport, JsonHasTheNumbersExactly) {
  const MappingReport report = test::made_mapping();
  const json j = json::parse(mapping_json(report));
  EXPECT_EQ(j["step_s"], 0.52);
  EXPECT_EQ(j["gap"], 0);
  EXPECT_EQ(j["workload"]["uses"], 5);
  EXPECT_EQ(j["workload"]["step_flop"], report.request.workload.graph.work().value * 4 * 32);
  EXPECT_EQ(j["system"]["dimensions"][0]["tp"], 2);
  EXPECT_EQ(j["model"]["overlap"], "perfect");
  EXPECT_EQ(j["model"]["published_bubble"], true);
  ASSERT_EQ(j["partitions"].size(), 2u);
  EXPECT_EQ(j["partitions"][1]["memory_s"], 1e-3);
  EXPECT_EQ(j["partitions"][1]["kernels"], json({"down <b>", "out"}));
  EXPECT_EQ(j["kernels"][3]["partition"], 1);
  EXPECT_EQ(j["kernels"][3]["sharding"], "m");
  EXPECT_EQ(j["tensors"][0]["readers"], json({"up", "out"}));
  EXPECT_EQ(j["memory_bytes"]["total"], 1.4e6);
  EXPECT_EQ(j["search"]["transitions"], 400);
}

TEST(MappingReport, CsvIsARowAPartition) {
  const std::string csv = mapping_csv(test::made_mapping());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_THAT(csv, HasSubstr("a <made> graph,2 x made,2,1,1,1,500,0.52,1,forward,0.001,0.0005,"));
}

TEST(MappingReport, PageHoldsItsDataAndNothingEndsItsScript) {
  const MappingReport report = test::made_mapping();
  const std::string page = mapping_html(report);
  EXPECT_THAT(page, HasSubstr("<title>a &lt;made> graph on 2 x made · Flopcast map</title>"));
  EXPECT_THAT(page, HasSubstr("<rect"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  const std::string open = "id=\"data\">";
  const std::size_t from = page.find(open) + open.size();
  const std::string data = page.substr(from, page.find("</script>", from) - from);
  EXPECT_EQ(json::parse(data), json::parse(mapping_json(report)));
}

}  // namespace
}  // namespace flopcast::report
