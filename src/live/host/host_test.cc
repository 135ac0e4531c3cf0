#include "flopcast/live/host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "catalog_files.h"

namespace flopcast {
namespace {

/// One thread: operators of `forward_us` each 20 us with a launch of 5 us, kernels 8 us behind the launch.
std::string recording(int operators, int pause_us) {
  std::string rows;
  const auto row = [&rows](const std::string& text) { rows += (rows.empty() ? "" : ",") + text; };
  for (int i = 0; i < operators; ++i) {
    const int at = 1000 + i * pause_us;
    row(fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{},"dur":10}})", at));
    row(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},)"
        R"("dur":5,"args":{{"correlation":{}}}}})",
        at + 3, i + 1));
    row(fmt::format(R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":2,)"
                    R"("args":{{"correlation":{},"stream":7,"device":0}}}})",
                    at + 11, i + 1));
  }
  return "{\"traceEvents\":[" + rows + "]}";
}

HostRecording read(const std::string& name, int operators, int pause_us) {
  HostRecording made{name, {}};
  made.runs.push_back(std::move(*read_trace_text(recording(operators, pause_us), name)));
  return made;
}

TEST(HostCosts, AreFromOneOperatorToTheNextWithoutItsCalls) {
  std::vector<HostRecording> recordings;
  recordings.push_back(read("one", 50, 20));
  const Result<HostFit> fit = fit_host(recordings);
  ASSERT_TRUE(fit) << fit.error().text();
  EXPECT_EQ(fit->table.at(HostCost::kLaunch), 5000);
  EXPECT_EQ(fit->table.at(HostCost::kForwardOperator), 15000);
  EXPECT_EQ(fit->table.at(HostCost::kLaunchLatency), 8000);
  // What the recording has none of is as it was.
  EXPECT_EQ(fit->table.at(HostCost::kFill), HostTable::builtin().at(HostCost::kFill));
}

TEST(HostCosts, ErrorsAreThoseOfAFitToTheOthers) {
  std::vector<HostRecording> recordings;
  recordings.push_back(read("fast", 50, 20));
  recordings.push_back(read("slow", 50, 40));
  const Result<HostFit> fit = fit_host(recordings);
  ASSERT_TRUE(fit);
  ASSERT_EQ(fit->errors.size(), 2u);
  EXPECT_NEAR(fit->errors[0].measured_s, 49 * 20e-6, 1e-9);
  EXPECT_NEAR(fit->errors[0].forecast_s, 49 * 40e-6, 1e-9);
  EXPECT_NEAR(fit->errors[1].forecast_s, 49 * 20e-6, 1e-9);
}

TEST(HostCosts, ARecordingWithoutLaunchesIsRefused) {
  HostRecording none{"none", {}};
  none.runs.push_back(std::move(*read_trace_text("{\"traceEvents\":[]}", "none")));
  std::vector<HostRecording> recordings;
  recordings.push_back(std::move(none));
  EXPECT_FALSE(fit_host(recordings));
}

TEST(HostCosts, TablesAreWrittenAndRead) {
  const HostTable builtin = HostTable::builtin();
  const Result<HostTable> again = HostTable::parse(builtin.toml("here"), "test");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->ns, builtin.ns);
  for (const double ns : builtin.ns) EXPECT_GT(ns, 0);
}

TEST(HostCosts, AMistakeInATableIsNamedWithItsPlace) {
  std::string text = HostTable::builtin().toml("here");
  const auto refused = [](const std::string& bad) {
    const Result<HostTable> table = HostTable::parse(bad, "my.toml");
    return table ? std::string() : table.error().text();
  };
  EXPECT_NE(refused(text + "nonsense = 1\n").find("nonsense"), std::string::npos);
  EXPECT_NE(refused("[host]\nlaunch = -1\n").find("my.toml:2"), std::string::npos);
  EXPECT_NE(refused("[host]\nlaunch = 1\n").find("has no copy"), std::string::npos);
  EXPECT_NE(refused("x = 1\n").find("[host]"), std::string::npos);
}

}  // namespace
}  // namespace flopcast
