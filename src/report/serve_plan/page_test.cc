#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/report/serve_plan.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(FleetPages, HoldTheReport) {
  ServePlanReport report;
  report.model = "llama-3-70b";
  report.on = "4 x dgx-h100";
  report.limits = {{ServiceLimit::Quantity::kTtft, 99, {1}}};
  const std::string page = serve_plan_html(report);
  EXPECT_THAT(page, HasSubstr("<title>llama-3-70b on 4 x dgx-h100 · Flopcast serve-plan</title>"));
  EXPECT_THAT(page, HasSubstr("\"best\": []"));
  EXPECT_THAT(page, HasSubstr("What no other fleet beats"));
}

}  // namespace
}  // namespace flopcast
