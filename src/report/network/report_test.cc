#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flopcast/report/network.h"

namespace flopcast::report {
namespace {

CollectiveReport made_collective() {
  CollectiveReport report;
  report.cluster = "2 x </script>";
  report.query.size = Bytes{1e9};
  report.ranks = 16;
  report.answer.time = Seconds{0.004};
  report.answer.low = Seconds{0.0035};
  report.answer.high = Seconds{0.005};
  report.answer.basis = Basis::kFitted;
  report.answer.source = "a fit";
  report.answer.parts = {{"node", Seconds{1e-5}, Seconds{3e-3}}};
  report.answer.candidates = {
      {CollectiveAlgorithm::kRing, CollectiveProtocol::kSimple, Seconds{0.004}}};
  report.curves = {{"forecast", true, {{Bytes{1e6}, Seconds{1e-5}}, {Bytes{1e9}, Seconds{4e-3}}}}};
  return report;
}

TrafficReport made_traffic() {
  TrafficReport report;
  report.cluster = "made";
  TrafficRow row;
  row.id = "a,b";
  row.bytes = 1000;
  report.traffic = {row};
  report.result.rows = {{Time{}, Time::from_us(2)}};
  report.result.end = Time::from_us(2);
  report.result.interval = Time::from_us(1);
  report.result.links = {{0, Bytes{1000}, 0.5, {1.0F, 0.0F}}};
  report.link_names = {"x > y"};
  return report;
}

TEST(NetworkReport, JsonHoldsTheForecastInSiUnits) {
  const auto document = nlohmann::json::parse(collective_json(made_collective()));
  EXPECT_EQ(document["op"], "all_reduce");
  EXPECT_DOUBLE_EQ(document["time_s"], 0.004);
  EXPECT_DOUBLE_EQ(document["algorithm_bandwidth"], 2.5e11);
  EXPECT_DOUBLE_EQ(document["bus_bandwidth"], 2.5e11 * 30 / 16);
  EXPECT_EQ(document["basis"], "fitted");
  EXPECT_DOUBLE_EQ(document["parts"][0]["transfer_s"], 3e-3);
  EXPECT_EQ(document["candidates"][0]["algorithm"], "ring");
}

TEST(NetworkReport, TextNamesWhatItRestsOn) {
  const std::string text = collective_text(made_collective());
  EXPECT_NE(text.find("fitted: a fit"), std::string::npos);
  EXPECT_NE(text.find("4.00 ms"), std::string::npos);
}

TEST(NetworkReport, PagesHoldTheirDataAndNothingEndsTheirScript) {
  for (const std::string& page :
       {collective_html(made_collective()), traffic_html(made_traffic())}) {
    const std::string open = "id=\"data\">";
    const std::size_t begin = page.find(open) + open.size();
    const auto document =
        nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    EXPECT_FALSE(document["title"].get<std::string>().empty());
    EXPECT_EQ(page.find("{{"), std::string::npos);
    EXPECT_EQ(page.find("/*{{"), std::string::npos);
  }
}

TEST(NetworkReport, TrafficAsTableCsvAndJson) {
  const TrafficReport report = made_traffic();
  EXPECT_EQ(traffic_csv(report), "id,bytes,start_s,end_s\n\"a,b\",1000,0,0.000002\n");
  EXPECT_NE(traffic_text(report).find("x > y"), std::string::npos);
  const auto document = nlohmann::json::parse(traffic_json(report));
  EXPECT_EQ(document["links"][0]["used"].size(), 2U);
  EXPECT_DOUBLE_EQ(document["flows"][0]["end_s"], 2e-6);
}

TEST(NetworkReport, ErrorsByGroupAsTableAndJson) {
  CollectiveValidation validation;
  validation.all = {"all", 4, 0.05, 0.04, 0.1, -0.01, 0.75};
  validation.groups = {{"system/h100_sxm", 4, 0.05, 0.04, 0.1, -0.01, 0.75}};
  validation.unanswered = 2;
  const std::string text = collective_errors_text(validation);
  EXPECT_NE(text.find("system/h100_sxm "), std::string::npos);
  EXPECT_NE(text.find("2 rows without a forecast"), std::string::npos);
  const auto document = nlohmann::json::parse(collective_errors_json(validation));
  EXPECT_DOUBLE_EQ(document["mape"], 0.05);
  EXPECT_DOUBLE_EQ(document["by"]["system"]["h100_sxm"]["band_coverage"], 0.75);
}

}  // namespace
}  // namespace flopcast::report
