// Idle, compute, communication and overlap against independent calculations: of a made-up run by the
// plainest there is, moment by moment; of real recordings, where ../shared is at hand, in exact
// rationals (oracles/trace_breakdown.json, true_stdlib), on every set and rank.
//
// The oracle's window is first start to last end of the GPU rows; where there are several
// ProfilerSteps it keeps only rows launched by a host row that starts before the last step ends. It
// calls a kernel communication if its name starts with "nccl": where a set has others, their sum
// with compute is compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "flopcast/report/replay.h"
#include "report/replay/testing.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"

namespace flopcast::report {
namespace {

constexpr double kTolerance_us = 0.1;

bool has_several_steps(const std::vector<Step>& steps) { return steps.size() > 1; }

std::vector<bool> rows_counted(const TraceSet& set, const Trace& trace) {
  const Events& events = trace.events;
  const std::vector<Step> steps = find_steps(set, trace);
  std::vector<bool> counted(events.size());
  std::unordered_set<std::int64_t> launched;
  if (has_several_steps(steps)) {
    Time last = steps.front().end;
    for (const Step& step : steps) last = std::max(last, step.end);
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (is_host_call(events.category[row]) && events.start[row] <= last) {
        launched.insert(events.correlation[row]);
      }
    }
  }
  for (std::size_t row = 0; row < events.size(); ++row) {
    counted[row] = is_gpu_work(events.category[row]) &&
                   (!has_several_steps(steps) || launched.contains(events.correlation[row]));
  }
  return counted;
}

struct Window {
  std::vector<Time> start, end;  // rows not counted have no length
  Time from = Time::max(), to = Time::min();
  bool only_nccl = true;
};

Window window_of(const TraceSet& set, const Trace& trace) {
  const std::vector<bool> counted = rows_counted(set, trace);
  Window w;
  for (std::size_t row = 0; row < trace.events.size(); ++row) {
    const Time start = trace.events.start[row];
    w.start.push_back(start);
    w.end.push_back(counted[row] ? trace.events.end(row) : start);
    if (!counted[row]) continue;
    w.from = std::min(w.from, start);
    w.to = std::max(w.to, w.end.back());
    const std::string_view name = set.strings[trace.events.name[row]];
    if (is_communication_kernel(name) && !name.starts_with("nccl")) w.only_nccl = false;
  }
  return w;
}

void expect_equal(const nlohmann::json& oracle, const Breakdown& b, const Window& w) {
  const auto want = [&](const char* key) { return oracle.at(key).get<double>(); };
  EXPECT_NEAR((w.to - w.from).us(), want("kernel_time"), kTolerance_us);
  EXPECT_NEAR(b.idle.us(), want("idle"), kTolerance_us);
  if (!w.only_nccl) {
    const Time kernels = b.exposed_compute + b.exposed_communication + b.overlapped;
    EXPECT_NEAR(kernels.us(), want("compute") + want("exposed_comm"), kTolerance_us);
    return;
  }
  EXPECT_NEAR((b.exposed_compute + b.overlapped).us(), want("compute"), kTolerance_us);
  EXPECT_NEAR((b.exposed_communication + b.overlapped).us(), want("comm"), kTolerance_us);
  EXPECT_NEAR(b.exposed_communication.us(), want("exposed_comm"), kTolerance_us);
  if (oracle.at("overlap_pct").is_null()) {
    EXPECT_EQ(b.overlapped.ps, 0);
  } else {
    EXPECT_NEAR(b.overlapped.us(), want("comm") - want("exposed_comm"), kTolerance_us);
  }
}

void check_file(const nlohmann::json& oracle) {
  SCOPED_TRACE(oracle.at("file").get<std::string>());
  const Result<TraceSet> set = read_traces({test::shared_path(oracle.at("file"))});
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->traces.size(), 1u);
  const Trace& trace = set->traces.front();
  const Window w = window_of(*set, trace);
  expect_equal(oracle, test::breakdown(*set, trace, w.start, w.end, w.from, w.to), w);
}

/// Between any two moments at which a row starts or ends: what runs there?
nlohmann::json moment_by_moment(const TraceSet& set, const Trace& trace, const Window& w) {
  std::vector<Time> moments;
  for (std::size_t row = 0; row < w.start.size(); ++row) {
    if (w.end[row] > w.start[row]) moments.insert(moments.end(), {w.start[row], w.end[row]});
  }
  std::ranges::sort(moments);
  double idle = 0, compute = 0, comm = 0, exposed_comm = 0;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    bool any = false, computes = false, communicates = false;
    for (std::size_t row = 0; row < w.start.size(); ++row) {
      if (w.start[row] > moments[i - 1] || w.end[row] < moments[i] || w.end[row] == w.start[row]) {
        continue;
      }
      any = true;
      if (trace.events.category[row] != Category::kKernel) continue;
      const bool nccl = set.strings[trace.events.name[row]].starts_with("nccl");
      (nccl ? communicates : computes) = true;
    }
    const double us = (moments[i] - moments[i - 1]).us();
    idle += any ? 0 : us;
    compute += computes ? us : 0;
    comm += communicates ? us : 0;
    exposed_comm += communicates && !computes ? us : 0;
  }
  return {{"kernel_time", (w.to - w.from).us()},
          {"idle", idle},
          {"compute", compute},
          {"comm", comm},
          {"exposed_comm", exposed_comm},
          {"overlap_pct", 1}};
}

TEST(BreakdownOracle, EveryRankOfTheSampleWithinATenthOfAMicrosecond) {
  for (int rank = 0; rank < 8; ++rank) {
    const Result<TraceSet> set =
        read_traces({test::sample_run() / ("sample_rank" + std::to_string(rank) + ".json.gz")});
    ASSERT_TRUE(set.ok()) << set.error().text();
    const Trace& trace = set->traces.front();
    const Window w = window_of(*set, trace);
    EXPECT_TRUE(w.only_nccl);
    expect_equal(moment_by_moment(*set, trace, w),
                 test::breakdown(*set, trace, w.start, w.end, w.from, w.to), w);
  }
}

TEST(BreakdownOracle, EverySetAndRankWithinATenthOfAMicrosecond) {
  FLOPCAST_SHARED_OR_SKIP(path, "oracles/trace_breakdown.json");
  std::ifstream in(path);
  const nlohmann::json oracles = nlohmann::json::parse(in);
  std::size_t checked = 0;
  for (const auto& [name, result] : oracles.at("results").items()) {
    for (const nlohmann::json& oracle : result.at("exact").at("true_stdlib")) {
      check_file(oracle);
      ++checked;
    }
  }
  EXPECT_GE(checked, 50u);
}

}  // namespace
}  // namespace flopcast::report
