#include "whatif/durations/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "flopcast/network/traffic.h"
#include "flopcast/replay/network_times.h"
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

/// Stretches one thing. What is not there is refused.
class Scaler {
 public:
  Scaler(ChangedRun& run, const Change& change, double factor)
      : run_(run), change_(change), factor_(factor) {}

  /// A part of the work.
  void operator()(const ScaledPart& part) {
    const std::uint32_t index = run_.parts->find(part.name);
    if (index == kNoIndex || index == Parts::kHostPart) {
      std::string there;
      for (const std::string& p : run_.parts->names()) there += (there.empty() ? "" : ", ") + p;
      return refuse(fmt::format("the recording has no {}; it has {}", part.name, there));
    }
    stretch([&](std::uint32_t r, std::uint32_t t) { return run_.parts->of_gpu(r, t) == index; });
  }

  void operator()(const ScaledKernels& kernels) {
    std::set<std::uint32_t> chosen;
    for (const std::uint32_t name : kernel_names(run_)) {
      if (kernels.match(run_.set->strings[name])) chosen.insert(name);
    }
    if (chosen.empty()) {
      return refuse(
          fmt::format("no kernel of the recording has a name with {} in it", kernels.written));
    }
    stretch([&](std::uint32_t r, std::uint32_t t) {
      const RankModel& rank = run_.recording->ranks[r];
      const Events& events = rank.trace->events;
      return !rank.gpu[t].communication && is_gpu_work(events.category[rank.gpu[t].row]) &&
             chosen.contains(events.name[rank.gpu[t].row]);
    });
  }

  void operator()(const ScaledNetwork& network) {
    const std::size_t gpus = gpus_of_node(run_);
    if (network.tier && gpus == 0) {
      return refuse(
          "the recording does not list the GPUs of a node (deviceProperties)"
          ", so that no collective is known to stay inside");
    }
    std::vector<bool> chosen;
    for (const Collective& c : run_.recording->collectives) {
      chosen.push_back(!network.tier ||
                       leaves_node(run_, c, gpus) == (network.tier == NetworkTier::kFabric));
    }
    const auto of = [&](std::uint32_t r, std::uint32_t t) {
      const std::uint32_t c = run_.recording->ranks[r].gpu[t].collective;
      return c != kNoIndex && chosen[c];
    };
    if (std::find(chosen.begin(), chosen.end(), true) != chosen.end()) return stretch(of);
    refuse(!network.tier ? "the recording has no collective that was matched across ranks"
                         : fmt::format("no collective of the recording is on tier {}",
                                       network.tier == NetworkTier::kNode ? "node" : "fabric"));
  }

  void operator()(const ScaledHost&) {
    std::uint64_t pieces = 0;
    for (std::uint32_t r = 0; r < run_.recording->ranks.size(); ++r) {
      for (const HostThread& thread : run_.recording->ranks[r].threads)
        pieces += thread.pieces.size();
      stretch_host(*run_.recording, r, factor_, run_.durations);
    }
    if (pieces == 0) return refuse("no row of the host was recorded");
    note(pieces);
  }

  void operator()(const ScaledRank& one) {
    const auto& ranks = run_.recording->ranks;
    const auto found = std::find_if(ranks.begin(), ranks.end(),
                                    [&](const RankModel& rank) { return rank.rank == one.rank; });
    if (found == ranks.end()) return refuse(fmt::format("rank {} was not recorded", one.rank));
    const auto index = static_cast<std::uint32_t>(found - ranks.begin());
    stretch_host(*run_.recording, index, factor_, run_.durations);
    stretch([&](std::uint32_t r, std::uint32_t t) {
      return r == index && !ranks[r].gpu[t].communication;
    });
  }

 private:
  void refuse(std::string missing) { run_.refused.push_back(refusal(change_, std::move(missing))); }
  void note(std::uint64_t tasks) { run_.notes.push_back({change_.text, "assumed", tasks, 0}); }

  template <typename Chooses>
  void stretch(Chooses&& of) {
    note(stretch_gpu(run_, factor_, of));
  }

  ChangedRun& run_;
  const Change& change_;
  double factor_;
};

}  // namespace

std::optional<Diagnostic> scale(ChangedRun& run, const Change& change, const Scale& asked) {
  std::visit(Scaler(run, change, asked.factor), asked.what);
  return std::nullopt;
}

}  // namespace flopcast::whatif
