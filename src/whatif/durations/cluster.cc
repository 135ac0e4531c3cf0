#include "whatif/durations/cluster.h"

#include <fmt/format.h>

#include "flopcast/machine.h"
#include "flopcast/replay/network_times.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Transfers of a run on a network, beside its other durations.
struct OtherNetwork {
  NetworkUse use;
  Durations durations;
  NetworkBand band;
};
Result<OtherNetwork> times_on(const ChangedRun& run, const std::string& name) {
  const Catalog& catalog = Catalog::builtin();
  const Result<Cluster> cluster = catalog.cluster(name);
  if (!cluster) return cluster.error();
  const Result<Machine> machine =
      Machine::make(*cluster, catalog, with_uses({FitKind::kNetwork}, "a network of what-ifs"));
  if (!machine) return machine.error();
  OtherNetwork out;
  out.durations = run.durations;
  Result<NetworkUse> use =
      apply_network(*run.set, *run.recording, machine->transfers(), out.durations, &out.band);
  if (!use) return use.error();
  out.use = std::move(*use);
  return out;
}

}  // namespace

std::optional<Diagnostic> replace_network(ChangedRun& run, const Change& change,
                                          const OnCluster& to) {
  if (run.emitted && run.network == to.cluster) return std::nullopt;
  if (run.ranks > 0) {
    run.refused.push_back(
        refusal(change,
                "ranks were added whose place on a network is not known: what was recorded "
                "stands for them"));
    return std::nullopt;
  }
  Result<OtherNetwork> other = times_on(run, to.cluster);
  if (!other) return other.error();
  std::uint64_t replaced = 0;
  std::string kept;
  for (const NetworkUse::Operation& op : other->use.operations) {
    replaced += op.collectives - op.kept;
    if (op.kept < op.collectives) {
      run.notes.push_back({fmt::format("{} on {} ({})", op.name, to.cluster, op.source), "modelled",
                           op.collectives - op.kept, 0});
    }
    if (op.kept == 0) continue;
    kept += fmt::format("{}{} of {}", kept.empty() ? "" : ", ", op.kept_because, op.name);
    run.notes.push_back({fmt::format("{} with its recorded transfer: {}", op.name, op.kept_because),
                         "copied", op.kept, 0});
  }
  if (replaced == 0) {
    run.refused.push_back(refusal(
        change, kept.empty() ? "the recording has no collective that was matched across ranks"
                             : "no collective can be asked of the network: " + kept));
    return std::nullopt;
  }
  run.durations = std::move(other->durations);
  run.doubts.push_back({fmt::format("the model of the network of {}", to.cluster),
                        std::move(other->band.low), std::move(other->band.high)});
  return std::nullopt;
}

}  // namespace flopcast::whatif
