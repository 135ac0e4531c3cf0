#include "flopcast/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "live/daemon/daemon.h"
#include "live/launch/launcher.h"
#include "live/pricing/cluster_work.h"
#include "live/torch_build/torch_build.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

namespace fs = std::filesystem;

/// Loaded before all others: the core, then what needs the libraries that stand in.
constexpr const char* kPreloaded[] = {"libflopcast_live.so", "libflopcast_preload.so"};

DeviceFacts facts_of(const Chip& chip) {
  DeviceFacts facts;
  chip.name.copy(facts.name, sizeof facts.name - 1);
  facts.memory_bytes = static_cast<std::uint64_t>(chip.hbm_capacity.value);
  facts.l2_bytes = static_cast<std::uint64_t>(chip.on_chip_memory.value);
  facts.cores = static_cast<std::uint32_t>(chip.cores);
  // Compute capability by generation.
  const std::pair<std::string_view, std::pair<unsigned, unsigned>> capabilities[] = {
      {"volta", {7, 0}}, {"turing", {7, 5}}, {"ampere", {8, 0}},
      {"ada", {8, 9}},   {"hopper", {9, 0}}, {"blackwell", {10, 0}}};
  facts.major = 8;
  for (const auto& [name, capability] : capabilities) {
    if (chip.architecture.starts_with(name)) std::tie(facts.major, facts.minor) = capability;
  }
  return facts;
}

Result<std::string> preloaded(const fs::path& folder) {
  std::string all;
  for (const char* name : kPreloaded) {
    const fs::path library = folder / name;
    std::error_code ignored;
    if (!fs::exists(library, ignored)) {
      return Diagnostic{ErrorCode::kBadInput, library.string(), "is not there",
                        "build the stand-in libraries: ./dev build"};
    }
    all += (all.empty() ? "" : ":") + library.string();
  }
  return all;
}

std::optional<Diagnostic> start_ranks(const LiveRequest& request, std::uint32_t ranks,
                                      std::uint32_t of_node, Daemon& daemon, Launcher& launcher) {
  const Result<std::string> preload = preloaded(fs::absolute(request.libraries));
  if (!preload) return preload.error();
  const fs::path plugin_sources = fs::absolute(request.libraries).parent_path() / "plugin";
  const Result<std::string> plugin = torch_plugin_of(request.command, plugin_sources);
  if (!plugin) return plugin.error();
  const Result<std::uint16_t> port = free_port();
  if (!port) return port.error();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) daemon.expect(static_cast<std::int32_t>(rank));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Command command{request.command, rank_environment(rank, ranks, of_node, *port)};
    command.environment[kSocketVariable] = daemon.name();
    command.environment["LD_PRELOAD"] = *preload;
    command.environment["LD_LIBRARY_PATH"] = fs::absolute(request.libraries).string();
    command.environment["FLOPCAST_LIVE_TORCH"] = *plugin;
    command.environment["OMP_NUM_THREADS"] = "1";
    if (auto problem = launcher.start(command)) return problem;
  }
  return std::nullopt;
}

std::vector<LiveCoverage> listed(const std::map<std::string, Coverage>& by_name) {
  std::vector<LiveCoverage> all;
  for (const auto& [name, coverage] : by_name)
    all.push_back({name, coverage.kernels, coverage.time});
  std::stable_sort(all.begin(), all.end(),
                   [](const LiveCoverage& a, const LiveCoverage& b) { return a.time > b.time; });
  return all;
}

/// Until all processes have ended. The first that fails ends the others, as launchers do.
Result<int> drive(Session& session, Daemon& daemon, Launcher& launcher, LiveReport& report,
                  const std::function<bool()>& stop) {
  int status = 0;
  while (launcher.running() > 0) {
    if (auto problem = daemon.step()) return *problem;
    for (const SettledTask& task : session.run().take_settled(session.horizon())) {
      ++report.tasks;
      report.virtual_time = std::max(report.virtual_time, task.end);
    }
    for (const Ending& ending : launcher.ended()) {
      daemon.gone(static_cast<std::int32_t>(ending.process));
      if (status == 0) status = ending.status;
      if (ending.status != 0) launcher.end_all();
    }
    if (stop && stop()) launcher.end_all();
    if (const std::string wait = session.deadlock(); !wait.empty() && daemon.alive() > 0) {
      return Diagnostic{
          ErrorCode::kNoAnswer, "live run", "all wait, and nobody can go on:\n" + wait,
          "a collective that a rank never joins, or joins in another order, does this"};
    }
  }
  return status;
}

}  // namespace

Result<LiveReport> run_live(const LiveRequest& request, const Catalog& catalog,
                            const std::function<bool()>& stop) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<Cluster> cluster = catalog.cluster(request.cluster);
  if (!cluster) return cluster.error();
  const std::uint32_t ranks = request.ranks > 0 ? request.ranks : cluster->chips();
  if (ranks > cluster->chips()) {
    return usage_error(
        "--ranks",
        fmt::format("are {}, and {} has {} chips", ranks, request.cluster, cluster->chips()),
        "name a larger cluster");
  }
  Result<ClusterWork> work = ClusterWork::make(*cluster, catalog);
  if (!work) return work.error();
  Session session(*work);
  Result<std::unique_ptr<Daemon>> daemon =
      Daemon::listen(session, facts_of(cluster->chip), cluster->chips_per_node());
  if (!daemon) return daemon.error();
  Launcher launcher;
  if (auto problem = start_ranks(request, ranks, cluster->chips_per_node(), **daemon, launcher))
    return *problem;
  LiveReport report;
  const Result<int> status = drive(session, **daemon, launcher, report, stop);
  if (!status) return status.error();
  if (work->problem()) return *work->problem();
  report.status = *status;
  session.advance();  // what is under way ends, though nobody waits for it
  for (const SettledTask& task : session.run().take_settled(Time::max())) {
    ++report.tasks;
    report.virtual_time = std::max(report.virtual_time, task.end);
  }
  report.coverage = listed(work->kernels().by_basis());
  report.unknown = listed(work->kernels().unknown());
  report.real_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace flopcast
