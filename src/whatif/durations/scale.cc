#include "whatif/durations/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text/names.h"
#include "flopcast/network/traffic.h"
#include "flopcast/replay/network_times.h"
#include "whatif/change/pattern.h"
#include "whatif/change/stretch.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Stretches the GPU tasks that `of` chooses; how many there are.
template <typename Chooses>
std::uint64_t stretch_gpu(ChangedRun& run, double k, Chooses&& of) {
  std::uint64_t count = 0;
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r) {
    const RankModel& rank = run.recording->ranks[r];
    Durations::Rank& durations = run.durations.ranks[r];
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      if (!of(r, t)) continue;
      set_gpu_time(durations, rank.gpu[t], t, stretched(gpu_time(durations, t), k));
      ++count;
    }
  }
  return count;
}

void note(ChangedRun& run, const Change& change, std::uint64_t tasks) {
  run.notes.push_back({change.text, "assumed", tasks, 0});
}

/// Names of the run's kernels that are no communication.
std::set<std::uint32_t> kernel_names(const ChangedRun& run) {
  std::set<std::uint32_t> names;
  for (const RankModel& rank : run.recording->ranks) {
    for (const GpuTask& task : rank.gpu) {
      if (!task.communication && rank.trace->events.category[task.row] == Category::kKernel)
        names.insert(rank.trace->events.name[task.row]);
    }
  }
  return names;
}

/// Stretches kernels by what their names hold.
std::optional<Diagnostic> scale_named(ChangedRun& run, const Change& change) {
  const std::string& text = change.argument;
  const bool slashes = text.size() >= 2 && text.front() == '/' && text.back() == '/';
  const Result<Pattern> pattern =
      Pattern::make(slashes ? text.substr(1, text.size() - 2) : std::string(), "--scale");
  if (!pattern) return pattern.error();
  std::set<std::uint32_t> chosen;
  for (const std::uint32_t name : kernel_names(run)) {
    const std::string_view kernel = run.set->strings[name];
    if (slashes ? pattern->found_in(kernel) : kernel.find(text) != std::string_view::npos)
      chosen.insert(name);
  }
  if (chosen.empty()) {
    run.refused.push_back(
        refusal(change, fmt::format("no kernel of the recording has a name with {} in it", text)));
    return std::nullopt;
  }
  const std::uint64_t tasks =
      stretch_gpu(run, change.number, [&](std::uint32_t r, std::uint32_t t) {
        const RankModel& rank = run.recording->ranks[r];
        const Events& events = rank.trace->events;
        return !rank.gpu[t].communication && is_gpu_work(events.category[rank.gpu[t].row]) &&
               chosen.contains(events.name[rank.gpu[t].row]);
      });
  note(run, change, tasks);
  return std::nullopt;
}

/// Stretches a part of the work, which must be there.
void scale_work(ChangedRun& run, const Change& change, const std::string& part) {
  const std::uint32_t index = run.parts->find(part);
  if (index == kNoIndex || index == Parts::kHostPart) {
    std::string there;
    for (const std::string& p : run.parts->names()) there += (there.empty() ? "" : ", ") + p;
    run.refused.push_back(
        refusal(change, fmt::format("the recording has no {}; it has {}", part, there)));
    return;
  }
  note(run, change, stretch_gpu(run, change.number, [&](std::uint32_t r, std::uint32_t t) {
         return run.parts->of_gpu(r, t) == index;
       }));
}

/// GPUs of a rank's node as its file lists them; 0 where it does not.
std::size_t gpus_of_node(const ChangedRun& run) {
  std::size_t gpus = 0;
  for (const RankModel& rank : run.recording->ranks)
    gpus = std::max(gpus, rank.trace->devices.size());
  return gpus;
}

/// Whether a collective's ranks lie on several nodes, each with so many GPUs.
bool leaves_node(const ChangedRun& run, const Collective& c, std::size_t gpus) {
  const CollectiveMember& m = c.members.front();
  const RankModel& rank = run.recording->ranks[m.rank];
  const std::uint32_t detail = rank.trace->events.collective[rank.gpu[m.task].row];
  std::set<std::size_t> nodes;
  for (const CollectiveMember& each : c.members) {
    nodes.insert(static_cast<std::size_t>(std::max(run.recording->ranks[each.rank].rank, 0)) /
                 gpus);
  }
  if (detail != kNoDetail) {
    for (const std::uint32_t r :
         group_ranks(run.set->strings[rank.trace->collectives[detail].group_ranks]))
      nodes.insert(r / gpus);
  }
  return nodes.size() > 1;
}

}  // namespace

std::optional<Diagnostic> scale_kernels(ChangedRun& run, const ChangedRun&, const Change& change) {
  const std::string key = name_key(change.argument);
  if (key == "gemm" || key == "attention" || key == "copies") {
    scale_work(run, change, key);
  } else if (key == "other" || key == "otherkernels") {
    scale_work(run, change, "other_kernels");
  } else {
    return scale_named(run, change);
  }
  return std::nullopt;
}

std::optional<Diagnostic> scale_collectives(ChangedRun& run, const ChangedRun&,
                                            const Change& change) {
  const std::optional<CollectiveOp> op = operation_of(change.argument);
  scale_work(run, change, op ? std::string(flopcast::name(*op)) : change.argument);
  return std::nullopt;
}

std::optional<Diagnostic> scale_network(ChangedRun& run, const ChangedRun&, const Change& change) {
  const std::string tier = name_key(change.argument);
  if (!tier.empty() && tier != "node" && tier != "fabric") {
    return usage_error("--scale", fmt::format("'{}' is no tier of a network", change.argument),
                       "network:node within nodes, network:fabric between them");
  }
  const std::size_t gpus = gpus_of_node(run);
  if (!tier.empty() && gpus == 0) {
    run.refused.push_back(
        refusal(change,
                "the recording does not list the GPUs of a node (deviceProperties)"
                ", so that no collective is known to stay inside"));
    return std::nullopt;
  }
  std::vector<bool> chosen;
  for (const Collective& c : run.recording->collectives) {
    chosen.push_back(tier.empty() || leaves_node(run, c, gpus) == (tier == "fabric"));
  }
  const std::uint64_t tasks =
      stretch_gpu(run, change.number, [&](std::uint32_t r, std::uint32_t t) {
        const std::uint32_t c = run.recording->ranks[r].gpu[t].collective;
        return c != kNoIndex && chosen[c];
      });
  if (tasks == 0) {
    run.refused.push_back(refusal(
        change, tier.empty() ? "the recording has no collective that was matched across ranks"
                             : fmt::format("no collective of the recording is on tier {}", tier)));
    return std::nullopt;
  }
  note(run, change, tasks);
  return std::nullopt;
}

std::optional<Diagnostic> scale_host(ChangedRun& run, const ChangedRun&, const Change& change) {
  std::uint64_t pieces = 0;
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r) {
    for (const HostThread& thread : run.recording->ranks[r].threads) pieces += thread.pieces.size();
    stretch_host(*run.recording, r, change.number, run.durations);
  }
  if (pieces == 0) {
    run.refused.push_back(refusal(change, "no row of the host was recorded"));
    return std::nullopt;
  }
  note(run, change, pieces);
  return std::nullopt;
}

std::optional<Diagnostic> scale_rank(ChangedRun& run, const ChangedRun&, const Change& change) {
  const auto& ranks = run.recording->ranks;
  const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const RankModel& rank) {
    return fmt::format("{}", rank.rank) == change.argument;
  });
  if (found == ranks.end()) {
    run.refused.push_back(
        refusal(change, fmt::format("rank {} was not recorded", change.argument)));
    return std::nullopt;
  }
  const auto index = static_cast<std::uint32_t>(found - ranks.begin());
  stretch_host(*run.recording, index, change.number, run.durations);
  note(run, change, stretch_gpu(run, change.number, [&](std::uint32_t r, std::uint32_t t) {
         return r == index && !ranks[r].gpu[t].communication;
       }));
  return std::nullopt;
}

std::optional<Diagnostic> scale_part(ChangedRun& run, const ChangedRun&, const Change& change) {
  scale_work(run, change, change.name);
  return std::nullopt;
}

}  // namespace flopcast::whatif
