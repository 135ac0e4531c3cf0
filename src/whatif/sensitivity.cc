#include "whatif/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "whatif/apply.h"
#include "whatif/change/stretch.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

constexpr double kLess = 0.9;
const std::set<std::string> kKernelParts = {"gemm", "attention", "other_kernels", "copies"};

/// A part of the run by the name that rows have.
struct RunPart {
  std::string name;
  Scaled what;
};

/// Everything of the recording that can be made faster by itself.
std::vector<RunPart> all_parts(const ChangedRun& run) {
  std::vector<RunPart> parts = {{"host", ScaledHost{}}};
  bool communication = false;
  for (const std::string& part : run.parts->names()) {
    if (part == Parts::kHost) continue;
    const bool kernels = kKernelParts.contains(part);
    communication = communication || !kernels;
    parts.push_back(
        {fmt::format("{}:{}", kernels ? "kernel" : "collective", part), ScaledPart{part}});
  }
  if (communication) {
    parts.push_back({"network", ScaledNetwork{}});
    parts.push_back({"network:node", ScaledNetwork{NetworkTier::kNode}});
    parts.push_back({"network:fabric", ScaledNetwork{NetworkTier::kFabric}});
  }
  if (run.recording->ranks.size() > 1) {
    for (const RankModel& rank : run.recording->ranks)
      parts.push_back({fmt::format("rank:{}", rank.rank), ScaledRank{rank.rank}});
  }
  return parts;
}

Time sum_of(const Durations& durations, const Recording& recording) {
  Time sum;
  for (std::size_t r = 0; r < durations.ranks.size(); ++r) {
    const Durations::Rank& d = durations.ranks[r];
    for (const auto* threads : {&d.piece, &d.gap}) {
      for (const std::vector<Time>& thread : *threads) {
        for (const Time time : thread) sum += time;
      }
    }
    for (const Time time : d.transfer) sum += time;
    const auto& waits = recording.sync_waits[r].waits;
    for (std::size_t w = 0; w < waits.size(); ++w) {
      if (waits[w].host_remainder) sum += d.after_sync[w];
    }
  }
  return sum;
}

/// The GPU step with a part k times as long; nothing where that run cannot finish. What the part
/// takes goes to `work`.
std::optional<Time> step_with(const Prepared& prepared, const RunPart& part, double k, Time* work) {
  const Result<ChangedRun> run =
      whatif::apply(prepared.recorded, {Change{Scale{part.what, k}, part.name}});
  if (!run || !run->refused.empty()) return std::nullopt;
  if (work != nullptr) {
    const Recording& recording = *run->recording;
    *work = sum_of(prepared.recorded.durations, recording) - sum_of(run->durations, recording);
  }
  const Result<TimedRun> timed = time_run(*run, *run->lags);
  if (!timed) return std::nullopt;
  return judge(*run->steps, timed->steps, {}).gpu;
}

std::size_t most_steps(const ChangedRun& run) {
  std::size_t most = 1;
  for (const auto& steps : *run.steps) most = std::max(most, steps.size());
  return most;
}

}  // namespace

Result<std::vector<WhatIfSensitivity>> sensitivity(const Prepared& prepared) {
  const std::vector<RunPart> parts = all_parts(prepared.recorded);
  std::vector<WhatIfSensitivity> rows(parts.size());
  parallel_for(2 * parts.size(), prepared.threads, [&](std::size_t i) {
    WhatIfSensitivity& row = rows[i / 2];
    if (i % 2 == 0) {
      row.part = parts[i / 2].name;
      row.less = step_with(prepared, parts[i / 2], kLess, nullptr);
    } else {
      row.limit = step_with(prepared, parts[i / 2], 0, &row.work);
    }
  });
  const auto steps = static_cast<std::int64_t>(most_steps(prepared.recorded));
  for (WhatIfSensitivity& row : rows) row.work = Time{row.work.ps / steps};
  std::erase_if(rows, [](const WhatIfSensitivity& row) { return row.work <= Time{}; });
  std::sort(rows.begin(), rows.end(), [](const WhatIfSensitivity& a, const WhatIfSensitivity& b) {
    return std::tuple(a.limit.value_or(Time::max()), a.less.value_or(Time::max()), a.part) <
           std::tuple(b.limit.value_or(Time::max()), b.less.value_or(Time::max()), b.part);
  });
  return rows;
}

}  // namespace flopcast::whatif
