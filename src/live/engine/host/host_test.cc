#include "flopcast/live/host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "catalog_files.h"

namespace flopcast {
namespace {

/// Rows of a recording, in microseconds.
class Rows {
 public:
  void operator_row(const char* name, int at, int lasts) {
    add(fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}})",
                    name, at, lasts));
  }
  void python(int at, int lasts) {
    add(fmt::format(
        R"({{"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":{},"dur":{}}})", at,
        lasts));
  }
  /// A call of 5 us, and its kernel 8 us behind its start.
  void launch(int at) {
    ++launches_;
    add(fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,)"
                    R"("ts":{},"dur":5,"args":{{"correlation":{}}}}})",
                    at, launches_));
    add(fmt::format(R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":2,)"
                    R"("args":{{"correlation":{},"stream":7,"device":0}}}})",
                    at + 8, launches_));
  }
  TraceSet read(const std::string& name) const {
    ReadOptions options;
    options.keep_python = true;
    return std::move(*read_trace_text("{\"traceEvents\":[" + rows_ + "]}", name, options));
  }

 private:
  void add(const std::string& text) { rows_ += (rows_.empty() ? "" : ",") + text; }
  std::string rows_;
  int launches_ = 0;
};

HostRecording recording_of(const std::string& name, const Rows& rows) {
  HostRecording made{name, {}};
  made.runs.push_back(rows.read(name));
  return made;
}

/// An operator of 10 us with a launch, every so often.
HostRecording paced(const std::string& name, int pause_us) {
  Rows rows;
  for (int i = 0; i < 50; ++i) {
    rows.operator_row("aten::mm", 1000 + i * pause_us, 10);
    rows.launch(1003 + i * pause_us);
  }
  return recording_of(name, rows);
}

HostFit fitted(std::vector<HostRecording> recordings) {
  Result<HostFit> fit = fit_host(recordings);
  EXPECT_TRUE(fit) << fit.error().text();
  return fit ? *fit : HostFit();
}

std::vector<HostRecording> one(HostRecording recording) {
  std::vector<HostRecording> all;
  all.push_back(std::move(recording));
  return all;
}

/// To the steps that a fit looks for it in.
constexpr double kStep = 0.003;

TEST(HostCosts, AnOperatorIsAllBesideItsCalls) {
  const HostFit fit = fitted(one(paced("one", 20)));
  EXPECT_EQ(fit.table.at(HostCost::kLaunch), 5000);
  // 49 pauses, and the last operator.
  const double expected = (49 * 15e3 + 5e3) / 50;
  EXPECT_NEAR(fit.table.at(HostCost::kOperator), expected, kStep * expected);
  EXPECT_EQ(fit.table.at(HostCost::kLaunchLatency), 8000);
  EXPECT_EQ(fit.table.spread, 0);  // nothing was left out of the fit
  // What the recording has none of is as it was.
  EXPECT_EQ(fit.table.at(HostCost::kFill), HostTable::builtin().at(HostCost::kFill));
  // It does not tell an operator from a launch outside of them: the machine is slower by one factor.
  const HostTable builtin = HostTable::builtin();
  EXPECT_NEAR(fit.table.at(HostCost::kOutside) / builtin.at(HostCost::kOutside),
              fit.table.at(HostCost::kOperator) / builtin.at(HostCost::kOperator), 0.01);
}

TEST(HostCosts, LaunchesOutsideOfOperatorsAreToldApart) {
  std::vector<HostRecording> recordings = one(paced("eager", 20));
  Rows compiled;
  for (int i = 0; i < 50; ++i) compiled.launch(1000 + 45 * i);
  recordings.push_back(recording_of("compiled", compiled));
  const HostFit fit = fitted(std::move(recordings));
  EXPECT_NEAR(fit.table.at(HostCost::kOperator), 14800, kStep * 14800);
  EXPECT_NEAR(fit.table.at(HostCost::kOutside), 39200, kStep * 39200);
}

TEST(HostCosts, WhatTheProfilerTakesForItsRowsIsNoCost) {
  // A view calls what makes it: both take half a microsecond without a profiler. Here they show 8 us.
  Rows rows;
  for (int i = 0; i < 50; ++i) {
    const int at = 1000 + 40 * i;
    rows.operator_row("aten::transpose", at, 8);
    rows.operator_row("aten::as_strided", at + 2, 3);
    rows.operator_row("aten::mm", at + 10, 10);
    rows.launch(at + 12);
  }
  const HostFit fit = fitted(one(recording_of("views", rows)));
  const double shown = (50 * 35e3 - 20e3) / 150, profiler = 7.5e3;
  EXPECT_NEAR(fit.table.at(HostCost::kOperator), shown - profiler, kStep * (shown - profiler));
  EXPECT_NEAR(fit.errors[0].profiler_s, 150 * 7.5e-6, 1e-9);
}

TEST(HostCosts, NeitherAreRowsOfPythonFunctions) {
  Rows rows;
  for (int i = 0; i < 50; ++i) {
    rows.operator_row("aten::mm", 1000 + 20 * i, 10);
    rows.launch(1003 + 20 * i);
    for (int python = 0; python < 5; ++python) rows.python(1011 + 20 * i + python, 1);
  }
  const HostFit fit = fitted(one(recording_of("stacks", rows)));
  const double expected = (49 * 13e3 + 5e3) / 50;
  EXPECT_NEAR(fit.table.at(HostCost::kOperator), expected, kStep * expected);
}

TEST(HostCosts, WaitsAreLeftOut) {
  Rows rows;
  for (int i = 0; i < 50; ++i) {
    rows.operator_row("aten::mm", 1000 + 200 * i, 10);
    rows.launch(1003 + 200 * i);
  }
  const HostFit fit = fitted(one(recording_of("waits", rows)));
  EXPECT_NEAR(fit.table.at(HostCost::kOperator), 5000, kStep * 5000);
}

TEST(HostCosts, ErrorsAreThoseOfAFitToTheOthers) {
  std::vector<HostRecording> recordings = one(paced("fast", 20));
  recordings.push_back(paced("slow", 40));
  const HostFit fit = fitted(std::move(recordings));
  ASSERT_EQ(fit.errors.size(), 2u);
  const double fast = 49 * 20e-6 + 10e-6, slow = 49 * 40e-6 + 10e-6;
  EXPECT_NEAR(fit.errors[0].measured_s, fast, 1e-9);
  EXPECT_NEAR(fit.errors[0].forecast_s, slow, kStep * slow);
  EXPECT_NEAR(fit.errors[1].measured_s, slow, 1e-9);
  EXPECT_NEAR(fit.errors[1].forecast_s, fast, kStep * slow);
  EXPECT_NEAR(fit.spread, slow / fast, 0.02);
  EXPECT_EQ(fit.table.spread, fit.spread);
}

TEST(HostCosts, ARecordingWithoutLaunchesIsRefused) {
  HostRecording none{"none", {}};
  none.runs.push_back(std::move(*read_trace_text("{\"traceEvents\":[]}", "none")));
  std::vector<HostRecording> recordings;
  recordings.push_back(std::move(none));
  EXPECT_FALSE(fit_host(recordings));
}

TEST(HostCosts, AFewCallsSayNothingOfTheirKind) {
  Rows rows;
  rows.operator_row("aten::mm", 1000, 10);
  rows.launch(1003);
  const HostFit fit = fitted(one(recording_of("one launch", rows)));
  EXPECT_EQ(fit.table.at(HostCost::kLaunch), HostTable::builtin().at(HostCost::kLaunch));
  EXPECT_EQ(fit.errors[0].operators, 1u);
}

TEST(HostCosts, TablesAreWrittenAndRead) {
  const HostTable builtin = HostTable::builtin();
  const Result<HostTable> again = HostTable::parse(builtin.toml("here"), "test");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->ns, builtin.ns);
  EXPECT_EQ(again->spread, builtin.spread);
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
  EXPECT_NE(refused("[host]\nspread = 0.5\n").find("my.toml:2"), std::string::npos);
}

}  // namespace
}  // namespace flopcast
