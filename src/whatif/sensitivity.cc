#include "whatif/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "flopcast/replay/timeline.h"
#include "whatif/apply.h"
#include "whatif/caution.h"
#include "whatif/change/stretch.h"
#include "whatif/slowest_rank.h"

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

/// Everything of the recording that can be made faster by itself, all ranks together.
std::vector<RunPart> parts_of_work(const ChangedRun& run) {
  std::vector<RunPart> parts = {{"host", ScaledHost{}}};
  bool communication = false;
  for (const std::string& part : run.parts->names()) {
    if (part == Parts::kHost) continue;
    const bool kernels = kKernelParts.contains(part);
    communication = communication || !kernels;
    parts.push_back(
        {fmt::format("{}:{}", kernels ? "kernel" : "collective", part), ScaledPart{part}});
  }
  if (communication) parts.push_back({"network", ScaledNetwork{}});
  return parts;
}

/// And what is less: the network's tiers, each rank.
std::vector<RunPart> all_parts(const ChangedRun& run) {
  std::vector<RunPart> parts = parts_of_work(run);
  if (parts.back().name == "network") {
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
  for (std::uint32_t r = 0; r < durations.ranks.size(); ++r)
    sum += work_of_rank(recording, r, durations);
  return sum;
}

/// The run with a part k times as long; nothing where it cannot finish. What the part takes goes to `work`.
std::optional<Judged> judged_with(const Prepared& prepared, const RunPart& part, double k,
                                  Time* work) {
  const Result<ChangedRun> run =
      whatif::apply(prepared.recorded, {Change{Scale{part.what, k}, part.name}});
  if (!run || !run->refused.empty()) return std::nullopt;
  if (work != nullptr) {
    const Recording& recording = *run->recording;
    *work = sum_of(prepared.recorded.durations, recording) - sum_of(run->durations, recording);
  }
  const Result<TimedRun> timed = time_run(*run, *run->lags);
  if (!timed) return std::nullopt;
  return judge(*run->steps, timed->steps, {});
}

std::size_t most_steps(const ChangedRun& run) {
  std::size_t most = 1;
  for (const auto& steps : *run.steps) most = std::max(most, steps.size());
  return most;
}

std::vector<WhatIfSensitivity> rows_of(const Prepared& prepared,
                                       const std::vector<RunPart>& parts) {
  const Judged before = judge(*prepared.recorded.steps, prepared.before.steps, {});
  std::vector<WhatIfSensitivity> rows(parts.size());
  std::vector<std::string> cautions(2 * parts.size());
  parallel_for(2 * parts.size(), prepared.threads, [&](std::size_t i) {
    WhatIfSensitivity& row = rows[i / 2];
    const bool none = i % 2 != 0;
    if (!none) row.part = parts[i / 2].name;
    const std::optional<Judged> judged =
        judged_with(prepared, parts[i / 2], none ? 0 : kLess, none ? &row.work : nullptr);
    if (!judged) return;
    (none ? row.limit : row.less) = judged->gpu;
    cautions[i] = caution_of(before, *judged, true);
  });
  const auto steps = static_cast<std::int64_t>(most_steps(prepared.recorded));
  for (std::size_t p = 0; p < rows.size(); ++p) {
    rows[p].work = Time{rows[p].work.ps / steps};
    rows[p].caution = cautions[cautions[2 * p + 1].empty() ? 2 * p : 2 * p + 1];
  }
  std::erase_if(rows, [](const WhatIfSensitivity& row) { return row.work <= Time{}; });
  std::sort(rows.begin(), rows.end(), [](const WhatIfSensitivity& a, const WhatIfSensitivity& b) {
    return std::tuple(a.limit.value_or(Time::max()), a.less.value_or(Time::max()), a.part) <
           std::tuple(b.limit.value_or(Time::max()), b.less.value_or(Time::max()), b.part);
  });
  return rows;
}

/// "gemm" of "kernel:gemm": parts of the work as replays call them.
std::string plain_name(const std::string& part) { return part.substr(part.find(':') + 1); }

/// What comes of a rank that was made like its equals.
RankLikeEquals told(const Prepared& prepared, std::uint32_t rank, const LikeEquals* like) {
  const auto& ranks = prepared.recorded.recording->ranks;
  RankLikeEquals out;
  out.rank = ranks[rank].rank;
  if (like == nullptr || !like->timed) return out;
  const ChangedRun& run = like->run;
  out.gpu_step = judge(*run.steps, like->timed->steps, {}).gpu;
  Replay after;
  tell_run(*run.set, *run.recording, *run.bindings, *run.lags, like->timed->assembly,
           like->timed->run, prepared.threads, after);
  const std::vector<WaitedFor> late = waited_for(after.collectives, stages_of(prepared));
  if (late.empty() || late.front().waited <= Time{}) return out;
  out.next = ranks[late.front().trace].rank;
  out.next_waited = late.front().waited;
  return out;
}

}  // namespace

std::vector<std::uint32_t> stages_of(const Prepared& prepared) {
  const TraceModel& model = prepared.recorded.trace_model();
  if (model.pp < 2 || model.stages.size() != prepared.recorded.recording->ranks.size()) return {};
  std::vector<std::uint32_t> stages(model.stages.size());
  for (const ModelStage& stage : model.stages) stages[stage.rank] = stage.stage;
  return stages;
}

std::vector<WhatIfSensitivity> sensitivity(const Prepared& prepared) {
  return rows_of(prepared, all_parts(prepared.recorded));
}

SensitivityTable worth(const Prepared& prepared) {
  SensitivityTable table;
  table.gpu_step = judge(*prepared.recorded.steps, prepared.before.steps, {}).gpu.value_or(Time{});
  for (const WhatIfSensitivity& row : rows_of(prepared, parts_of_work(prepared.recorded)))
    table.parts.push_back({plain_name(row.part), row.work, row.less, row.limit});
  std::ranges::stable_sort(table.parts, {}, [](const WorkSensitivity& part) {
    return std::tuple(part.gpu_step.value_or(Time::max()), part.part);
  });
  const std::optional<LikeEquals> straggler = find_straggler(prepared.recorded);
  if (straggler) table.straggler = told(prepared, straggler->rank, &*straggler);
  const std::vector<WaitedFor> late = waited_for(prepared.collectives, stages_of(prepared));
  if (late.empty() || late.front().waited <= Time{}) return table;
  const std::uint32_t rank = late.front().trace;
  const LikeEquals like = like_equals(prepared.recorded, rank);
  table.late = told(prepared, rank, &like);
  return table;
}

}  // namespace flopcast::whatif
