// A captured run, timed again on another cluster.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text/format.h"
#include "flopcast/live.h"
#include "live/engine/account/run_report.h"
#include "live/engine/capture/capture.h"
#include "live/engine/capture/resolve.h"
#include "live/engine/host/costs.h"
#include "live/engine/pricing/cluster_work.h"
#include "live/engine/pricing/device_facts.h"
#include "live/fold/places.h"
#include "live/fold/plan.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

/// Devices that a node has for a fresh run there.
std::uint32_t node_of(const CaptureFacts& facts, const Cluster& cluster) {
  return facts.nodes_as_cluster ? cluster.chips_per_node() : std::max(facts.chips_per_node, 1U);
}

std::string bytes_text(std::uint64_t bytes) {
  return short_bytes(static_cast<std::int64_t>(bytes));
}

/// Why the run does not fit this cluster.
std::optional<Diagnostic> misfit(const Capture& capture, const Cluster& cluster,
                                 const std::string& label) {
  const auto chips = static_cast<std::uint64_t>(cluster.chips());
  const Folding& folding = capture.facts.folding;
  if (folding.alike.size() > chips) {
    return usage_error("--on",
                       fmt::format("the run has {} ranks, and {} has {} chips",
                                   folding.alike.size(), label, chips),
                       "name a larger cluster");
  }
  if (const std::string unlike = unlike_places(folding, cluster, node_of(capture.facts, cluster));
      !unlike.empty()) {
    return Diagnostic{
        ErrorCode::kNoAnswer, label,
        "ranks that stood for others are not like them here: " + unlike,
        "run the script itself on that cluster, or name one whose nodes hold as many chips"};
  }
  for (const CapturedRow& row : capture.rows) {
    const bool is_process = row.kind == CapturedRow::Kind::kProcess;
    if (!is_process || row.rank < 0 || static_cast<std::uint64_t>(row.rank) < chips) continue;
    return usage_error(
        "--on", fmt::format("the run has a rank {}, and {} has {} chips", row.rank, label, chips),
        "name a larger cluster");
  }
  for (const auto& fit : cluster.fits) {
    if (fit->kind != FitKind::kHost) continue;
    return usage_error(fit->path, "says what the host takes, and a captured run has that already",
                       "capture it again: flopcast run --fit FILE --capture FILE");
  }
  const std::uint64_t memory = device_facts(cluster.chip).memory_bytes;
  for (const LiveRank& rank : capture.ending.ranks) {
    if (rank.most_memory <= memory) continue;
    return Diagnostic{ErrorCode::kTooLarge, label,
                      fmt::format("rank {} had {} of its GPU's memory, and this one has {}",
                                  rank.rank, bytes_text(rank.most_memory), bytes_text(memory)),
                      "name chips with more memory, or run it there: it may take less"};
  }
  return std::nullopt;
}

/// What the program saw of its cluster and would see otherwise here.
std::vector<std::string> seen_otherwise(const CaptureFacts& facts, const Cluster& cluster) {
  std::vector<std::string> all;
  if (facts.chip != cluster.chip.name) {
    all.push_back(
        fmt::format("the program saw {}: what it and its libraries choose by the chip is as there",
                    facts.chip));
  } else if (const std::uint64_t memory = device_facts(cluster.chip).memory_bytes;
             memory != facts.memory_bytes) {
    all.push_back(fmt::format("the program saw {} of memory, and would see {} here",
                              bytes_text(facts.memory_bytes), bytes_text(memory)));
  }
  const auto per_node = static_cast<std::uint32_t>(cluster.chips_per_node());
  if (facts.nodes_as_cluster && facts.chips_per_node != per_node &&
      facts.ranks > std::min(facts.chips_per_node, per_node)) {
    all.push_back(fmt::format("the program saw {} chips a node, and would see {} here",
                              facts.chips_per_node, per_node));
  }
  if (facts.host_factor > 0) all.push_back("host times were measured where it ran, not modelled");
  return all;
}

/// Half a run is timed as far as it came.
void tell_how_it_ended(const LiveReport& ending, std::vector<std::string>& all) {
  if (ending.failure) {
    const LiveFailure& failure = *ending.failure;
    const std::string who =
        failure.rank < 0 ? "its launcher" : fmt::format("its rank {}", failure.rank);
    all.push_back(fmt::format("the run failed: {} ended with status {}", who, failure.status));
  } else if (ending.stopped) {
    all.push_back("the run was stopped before its end");
  }
}

}  // namespace

bool is_captured_run(const std::filesystem::path& path) { return is_capture(path); }

Result<LiveReport> resolve_live(const ResolveRequest& request, const Catalog& catalog) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<Capture> capture = read_capture(request.capture);
  if (!capture) return capture.error();
  const CaptureFacts& facts = capture->facts;
  const std::string& label = request.cluster.empty() ? facts.cluster : request.cluster;
  const Result<Cluster> cluster = catalog.cluster(label);
  if (!cluster) return cluster.error();
  if (auto problem = misfit(*capture, *cluster, label)) return *problem;
  if (!facts.operators.empty() && request.operators.empty()) {
    return usage_error("--operators",
                       fmt::format("the run had operators of its own, by {}", facts.operators),
                       "name that file, or another, with --operators");
  }
  const Result<HostTable> host = HostTable::parse(facts.host, request.capture.string());
  if (!host) return host.error();
  Result<ClusterWork> work = ClusterWork::make(*cluster, catalog, request.operators);
  if (!work) return work.error();
  Session session(*work, host_times(*host));
  session.set_node(facts.chips_per_node);
  session.set_chips_of_node(node_of(facts, *cluster));
  Folding folding = facts.folding;
  folding.shares_tiers = shares_tiers(*cluster);
  session.set_folding(std::move(folding));
  RunReporter reporter(*cluster, label, request.timeline,
                       static_cast<std::uint32_t>(facts.folding.alike.size()));
  const Result<Retold> retold =
      retell(*capture, session, [&] { reporter.take(session, session.horizon()); });
  // Where a transfer has no price, all wait for it.
  if (const auto& problem = work->problem()) return *problem;
  if (!retold) return retold.error();
  session.advance();
  reporter.take(session, Time::max());
  LiveReport report = reporter.report(*work, session);
  const LiveReport& ending = capture->ending;
  report.status = ending.status;
  report.failure = ending.failure;
  report.stopped = ending.stopped;
  report.unsupported = ending.unsupported;
  report.tainted_reads = ending.tainted_reads;
  report.tainted_where = ending.tainted_where;
  report.values_end = ending.values_end;
  report.assumed = ending.assumed;
  report.of_ranks = facts.ranks;
  report.folded = alike_in(facts.folding);
  report.other_lengths = ending.other_lengths;
  report.host_spread = facts.host_factor == 0 ? host->spread : 0;
  for (LiveRank& rank : report.ranks) {
    const auto same = std::find_if(ending.ranks.begin(), ending.ranks.end(),
                                   [&](const LiveRank& other) { return other.rank == rank.rank; });
    if (same != ending.ranks.end()) rank.most_memory = same->most_memory;
  }
  report.resolved = LiveResolved{facts.cluster, retold->asked, retold->differs, retold->first,
                                 seen_otherwise(facts, *cluster)};
  tell_how_it_ended(ending, report.resolved->assumed);
  report.real_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace flopcast
