#include "live/engine/pricing/cluster_work.h"

#include <cmath>

#include "base/numeric/clock.h"

namespace flopcast::live {
namespace {

/// What copies of pinned memory reach of a link: 55 of 63 GB/s over PCIe 5.
constexpr double kPinnedShare = 0.87;
/// Of a copy between host and device before its first byte.
constexpr double kCopyLatency = 1.5e-6;

}  // namespace

Result<ClusterWork> ClusterWork::make(const Cluster& cluster, const Catalog& catalog,
                                      const std::filesystem::path& operators) {
  if (!(cluster.chip.host_bandwidth.value > 0)) {
    return Diagnostic{ErrorCode::kUsage, cluster.chip.name,
                      "what joins the chip to its host is not known",
                      "say it: \"" + cluster.name + ", chip.host_link pcie5\""};
  }
  MachineOptions options;
  options.uses.push_back(FitKind::kHost);
  options.asker = "a live run";
  Result<Machine> machine = Machine::make(cluster, catalog, options);
  if (!machine) return machine.error();
  Result<Transfers> transfers = Transfers::make(*machine);
  if (!transfers) return transfers.error();
  Result<Rates> rates = Rates::make(cluster.chip, catalog);
  if (!rates) return rates.error();
  Result<OperatorTable> table = OperatorTable::make(operators);
  if (!table) return table.error();
  // What was fitted with a software holds what its models do beside attention as well, which a run has as kernels of
  // its own: the chip's constants alone.
  const Result<TrainingConstants> known = chip_constants(cluster.as_measured().chip);
  if (!known) return known.error();
  const Conditions conditions{known->attention_share, machine->power_share(known->power_exponent)};
  return ClusterWork(KernelPrices(*machine, std::move(*rates), conditions, std::move(*table)),
                     std::move(*transfers), cluster.chip.host_bandwidth * kPinnedShare, *known);
}

Time ClusterWork::kernel(const Record& record, std::string_view signature) {
  return kernels_.price(signature, record.word[0] * record.word[1]);
}

Time ClusterWork::copy(const Record& record) {
  const std::uint64_t bytes = record.word[0];
  if (record.act == Act::kFill) return kernels_.fill_on_chip(bytes);
  const auto kind = static_cast<CopyKind>(record.word[1]);
  if (kind == CopyKind::kDeviceToDevice) return kernels_.copy_on_chip(bytes);
  // Chips of a node are alike, and so are their links.
  if (kind == CopyKind::kPeer)
    return transfers_.alone({Collective::kSend, static_cast<std::int64_t>(bytes), {0, 1}});
  const double seconds = kCopyLatency + static_cast<double>(bytes) / host_link_.value;
  return on_clock({seconds});
}

void ClusterWork::begin(std::uint64_t transfer, const Transfer& what, Time start) {
  if (auto problem = transfers_.begin(transfer, what, start); problem && !problem_)
    problem_ = std::move(problem);
}

}  // namespace flopcast::live
