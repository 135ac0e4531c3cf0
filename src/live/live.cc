#include "flopcast/live.h"

#include <fmt/format.h>

#include <numeric>

#include "flopcast/live/setup.h"
#include "live/find_folding.h"
#include "live/fold/witness.h"
#include "live/live_run.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

/// What the machine's own fits say that the host takes.
std::optional<Diagnostic> take_host(const Cluster& cluster, LiveRequest& request) {
  for (const auto& fit : cluster.fits) {
    if (fit->kind != FitKind::kHost) continue;
    if (request.host_factor > 0) {
      return usage_error(fit->path,
                         "says what the host takes, and so does the CPU time measured here",
                         "leave the fit out, or let the host be modelled");
    }
    const Result<HostTable> table = HostTable::parse(fit->text, fit->path);
    if (!table) return table.error();
    request.host = *table;
  }
  return std::nullopt;
}

Result<LiveReport> run_folded(const LiveRequest& request, const Catalog& catalog,
                              const LiveObserver& observer, const Cluster& cluster, Layout layout,
                              const Folding& folding) {
  Result<ClusterWork> work = ClusterWork::make(cluster, catalog, request.operators);
  if (!work) return work.error();
  std::vector<std::int32_t> ranks(layout.ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::erase_if(ranks, [&folding](std::int32_t rank) { return !folding.is_there(rank); });
  const auto there = static_cast<std::uint32_t>(ranks.size());
  if (request.fold != Fold::kOff) {
    if (auto problem = memory_problem(there, true, true)) return *problem;
  }
  OperatorTable table = work->kernels().table();
  LiveRun run(request, observer, cluster, std::move(*work), layout, folding, std::move(ranks));
  std::optional<Witness> witness;
  if (folding.folds()) {
    witness.emplace(folding, std::move(table));
    run.watch({&*witness,
               [&witness] { return witness->problem(); },
               {},
               [&witness] { return witness->problem_at_end(); },
               [&witness] { return witness->other_lengths(); }});
  }
  if (auto problem = run.start(cluster, catalog)) return *problem;
  if (auto problem = run.drive()) return *problem;
  return run.report();
}

}  // namespace

Result<LiveReport> run_live(const LiveRequest& request, const Catalog& catalog,
                            const LiveObserver& observer) {
  const Result<Cluster> cluster = catalog.cluster(request.cluster);
  if (!cluster) return cluster.error();
  const Result<Layout> layout = layout_of(request, *cluster);
  if (!layout) return layout.error();
  LiveRequest filled = request;
  if (auto problem = take_host(*cluster, filled)) return *problem;
  const Result<Folding> folding = find_folding(filled, catalog, observer, *cluster, *layout);
  if (!folding) return folding.error();
  return run_folded(filled, catalog, observer, *cluster, *layout, *folding);
}

}  // namespace flopcast
