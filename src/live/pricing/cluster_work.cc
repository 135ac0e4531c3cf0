#include "live/pricing/cluster_work.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/numeric/clock.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::live {
namespace {

/// What a chip is joined to its host by: PCIe of its generation, or NVLink-C2C to a Grace.
std::string_view host_link_of(const Chip& chip) {
  if (chip.name.starts_with("gh") || chip.name.starts_with("gb")) return "nvlink-c2c";
  for (const std::string_view older : {"volta", "turing"}) {
    if (chip.architecture.starts_with(older)) return "pcie3";
  }
  for (const std::string_view old : {"ampere", "ada"}) {
    if (chip.architecture.starts_with(old)) return "pcie4";
  }
  return "pcie5";
}
/// What copies of pinned memory reach of a link: 55 of 63 GB/s over PCIe 5.
constexpr double kPinnedShare = 0.87;
/// What training on real clusters was found to lose: constants of the forecasts of training.
struct InTraining {
  double contention = 0;       ///< share of computing beside a transfer
  double attention_share = 1;  ///< rate of attention in training / alone
};
InTraining in_training(const Chip& chip) {
  InTraining found;
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != "training/constants.toml") continue;
    const auto constants = parse_toml(file.text, std::string(file.path), false);
    if (!constants) break;
    const toml::table& root = constants->root;
    found.contention = root["all"]["contention"].value_or(0.0);
    // The more particular goes last. What was fitted with the software fsdp holds what its models do beside
    // attention as well, which a run has as kernels of its own.
    for (const auto& part : {root["chip"][chip.architecture], root["chip"][chip.name]})
      found.attention_share = part["attention_share"].value_or(found.attention_share);
  }
  return found;
}

/// A chip held below the power that the catalogue has for it runs at lower clocks: as forecasts of training take it.
double power_share(const Chip& chip, const Catalog& catalog) {
  constexpr double kPowerExponent = 0.5;
  const Result<Chip> rated = catalog.chip(chip.name);
  if (!rated || !(rated->power_w > 0) || !(chip.power_w > 0)) return 1;
  return std::min(1.0, std::pow(chip.power_w / rated->power_w, kPowerExponent));
}

/// Of a copy between host and device before its first byte.
constexpr double kCopyLatency = 1.5e-6;

}  // namespace

Result<ClusterWork> ClusterWork::make(const Cluster& cluster, const Catalog& catalog) {
  Result<KernelModel> kernels = KernelModel::make(cluster.chip, catalog);
  if (!kernels) return kernels.error();
  Result<Transfers> transfers = Transfers::make(cluster, catalog);
  if (!transfers) return transfers.error();
  const Result<flopcast::Link> host = catalog.link(host_link_of(cluster.chip));
  if (!host) return host.error();
  Result<Rates> rates = Rates::make(cluster.chip, catalog);
  if (!rates) return rates.error();
  const InTraining known = in_training(cluster.chip);
  const Conditions conditions{known.attention_share, power_share(cluster.chip, catalog)};
  return ClusterWork(KernelPrices(std::move(*kernels), std::move(*rates), conditions),
                     std::move(*transfers), host->bandwidth * kPinnedShare, known.contention);
}

Time ClusterWork::kernel(const Record& record, std::string_view signature) {
  return kernels_.price(signature, record.word[0] * record.word[1]);
}

Time ClusterWork::copy(const Record& record) {
  const std::uint64_t bytes = record.word[0];
  if (record.act == Act::kFill) return kernels_.fill_on_chip(bytes);
  if (static_cast<CopyKind>(record.word[1]) == CopyKind::kDeviceToDevice)
    return kernels_.copy_on_chip(bytes);
  const double seconds = kCopyLatency + static_cast<double>(bytes) / host_link_.value;
  return on_clock({seconds});
}

void ClusterWork::begin(std::uint64_t transfer, const Transfer& what, Time start) {
  if (auto problem = transfers_.begin(transfer, what, start); problem && !problem_)
    problem_ = std::move(problem);
}

}  // namespace flopcast::live
