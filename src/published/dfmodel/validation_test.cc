// Published numbers against the search in paper mode, and what a file of them may hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "published/dfmodel/sections.h"
#include "support/shared_traces.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

constexpr double kTolerance = 1e-6;

PublishedValidation validated(std::string_view json) {
  Result<PublishedValidation> result = validate_published(json, "test.json", Catalog::builtin(), 1);
  if (result) return std::move(*result);
  ADD_FAILURE() << result.error().text();
  return {};
}

std::string differences(const PublishedValidation& validation) {
  std::string text;
  for (const PublishedCheck& check : validation.checks) {
    if (check.kind != PublishedKind::kHeld || check.unexplained() <= kTolerance) continue;
    text += check.section + " " + check.name + " " + check.field + " expected " +
            std::to_string(check.expected) + " got " + std::to_string(check.got) + "\n";
  }
  return text;
}

std::uint64_t numbers_in(const nlohmann::json& json) {
  if (json.is_number()) return 1;
  std::uint64_t count = 0;
  if (json.is_structured()) {
    for (const nlohmann::json& child : json) count += numbers_in(child);
  }
  return count;
}

std::uint64_t numbers_in(const PublishedValidation& validation) {
  std::uint64_t count = validation.checks.size();
  for (const PublishedGap& gap : validation.unchecked) count += gap.numbers;
  return count;
}

TEST(PublishedValidation, TheExampleAgrees) {
  const Result<PublishedValidation> validation = validate_published(
      std::filesystem::path("examples/paper_dfmodel/published.json"), Catalog::builtin());
  ASSERT_TRUE(validation) << validation.error().text();
  EXPECT_EQ(validation->count(PublishedKind::kHeld), 39U);
  EXPECT_LE(validation->max_rel(), kTolerance) << differences(*validation);
  EXPECT_TRUE(validation->unchecked.empty());
}

TEST(PublishedValidation, AllExpectedValuesAgree) {
  const Result<PublishedValidation> validation =
      validate_published(test::data_path("dataflow_mapping.json"), Catalog::builtin());
  ASSERT_TRUE(validation) << validation.error().text();
  EXPECT_GT(validation->count(PublishedKind::kHeld), 600U);
  EXPECT_LE(validation->max_rel(), kTolerance) << differences(*validation);
  // The logs whose solver stopped early are all above the optimum.
  for (const PublishedCheck& check : validation->checks) {
    if (check.kind != PublishedKind::kUnconverged || check.section != "llm_dse_read") continue;
    if (check.field != "final_s") continue;
    EXPECT_LT(check.got, check.expected) << check.name;
  }
}

TEST(PublishedValidation, EveryNumberOfAFileIsCountedOnce) {
  const std::string text = R"({"power_fit": {"price_lsq": [0.05789, -33.72, 11380], "more": [1, 2]},
      "unheard": {"of": [1, {"and": 2.5}]}, "alone": 7, "points": {"none/such": {"final_s": 1}},
      "milp_stats": [{"graph": "DLRM", "cols": 1036}], "accelerators": {"h100": {"core": "1056"}}})";
  const PublishedValidation validation = validated(text);
  EXPECT_EQ(validation.count(PublishedKind::kHeld), 3U);
  EXPECT_EQ(numbers_in(validation), numbers_in(nlohmann::json::parse(text)));
  const auto has = [&](std::string_view name, std::string_view why) {
    for (const PublishedGap& gap : validation.unchecked) {
      if (gap.name == name && gap.why.find(why) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has("none/such", "no system of the 80"));
  EXPECT_TRUE(has("/milp_stats/0", "another solver"));
  EXPECT_TRUE(has("/alone", "no section"));
}

TEST(PublishedValidation, AWrongNumberIsFoundAndNamed) {
  const PublishedValidation validation = validated(
      R"({"accelerators": {"sn30": {"gflops": 614400.0, "core": 1281, "sram": 671088640}}})");
  ASSERT_NE(validation.worst(), nullptr);
  EXPECT_EQ(validation.worst()->field, "core");
  EXPECT_NEAR(validation.max_rel(), 1.0 / 1281, 1e-12);
}

TEST(PublishedValidation, RoundingExplainsHalfADigit) {
  EXPECT_DOUBLE_EQ(published::half_digit(87.0429), 0.00005);
  EXPECT_DOUBLE_EQ(published::half_digit(43.0), 0.05);
  EXPECT_EQ(published::half_digit(43), 0);
  EXPECT_NEAR(published::half_digit(3.025e-07), 5e-11, 1e-20);
  const PublishedCheck close{"s", "n", "f", 87.0429, 87.04294, 0.00005, PublishedKind::kHeld};
  EXPECT_EQ(close.unexplained(), 0);
  EXPECT_GT(close.relative(), 0);
  const PublishedCheck far{"s", "n", "f", 87.0429, 87.0430, 0.00005, PublishedKind::kHeld};
  EXPECT_NEAR(far.unexplained(), 0.00005 / 87.0429, 1e-9);
}

TEST(PublishedValidation, SaysWhereAFileIsNoJson) {
  const auto broken =
      validate_published("{\"points\":\n {\"h100\": [1,,2]}}", "x.json", Catalog::builtin());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(broken.error().text(), HasSubstr("x.json, line 2, column 14"));
  EXPECT_FALSE(validate_published("[1, 2]", "x.json", Catalog::builtin()));
  EXPECT_FALSE(validate_published("", "x.json", Catalog::builtin()));
  const auto missing =
      validate_published(std::filesystem::path("no/such.json"), Catalog::builtin());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text(), HasSubstr("no/such.json"));
}

TEST(PublishedStudies, GiveACellForEveryColumn) {
  for (const char* name : {"fig07", "fig09", "fig18", "fig20"}) {
    const Result<PublishedStudy> study = published_study(name, Catalog::builtin());
    ASSERT_TRUE(study) << study.error().text();
    EXPECT_FALSE(study->rows.empty()) << name;
    for (const auto& row : study->rows) EXPECT_EQ(row.size(), study->columns.size()) << name;
  }
  const auto unknown = published_study("fig99", Catalog::builtin());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
}

TEST(PublishedStudies, LargerDomainsAreNotSlower) {
  const Result<PublishedStudy> study = published_study("fig07", Catalog::builtin());
  ASSERT_TRUE(study) << study.error().text();
  double last = INFINITY;
  for (const auto& row : study->rows) {
    const double step_s = std::get<double>(row[2]);
    EXPECT_LT(step_s, last);
    last = step_s;
  }
}

TEST(FitQuadratic, FindsTheParabolaThroughItsPoints) {
  const std::vector<double> x = {1, 2, 3, 5, 8};
  std::vector<double> y;
  for (const double at : x) y.push_back(4 - 3 * at + 0.5 * at * at);
  const std::array<double, 3> fit = published::fit_quadratic(x, y);
  EXPECT_NEAR(fit[0], 4, 1e-9);
  EXPECT_NEAR(fit[1], -3, 1e-9);
  EXPECT_NEAR(fit[2], 0.5, 1e-9);
}

}  // namespace
}  // namespace flopcast
