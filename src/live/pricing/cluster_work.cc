#include "live/pricing/cluster_work.h"

#include <cmath>

namespace flopcast::live {
namespace {

/// PCIe 5 x16 as copies of pinned memory see it; no cluster of the catalogue says what its hosts have.
constexpr BytesPerSecond kHostLink{55e9};
/// Of a copy between host and device before its first byte.
constexpr double kCopyLatency = 1.5e-6;

}  // namespace

Result<ClusterWork> ClusterWork::make(const Cluster& cluster, const Catalog& catalog) {
  Result<KernelModel> kernels = KernelModel::make(cluster.chip, catalog);
  if (!kernels) return kernels.error();
  Result<Transfers> transfers = Transfers::make(cluster, catalog);
  if (!transfers) return transfers.error();
  return ClusterWork(KernelPrices(std::move(*kernels)), std::move(*transfers), kHostLink);
}

Time ClusterWork::kernel(const Record& record, std::string_view signature) {
  return kernels_.price(signature, record.word[0] * record.word[1]);
}

Time ClusterWork::copy(const Record& record) {
  const std::uint64_t bytes = record.word[0];
  if (record.act == Act::kFill ||
      static_cast<CopyKind>(record.word[1]) == CopyKind::kDeviceToDevice)
    return kernels_.copy_on_chip(bytes);
  const double seconds = kCopyLatency + static_cast<double>(bytes) / host_link_.value;
  return {std::llround(seconds * 1e12)};
}

void ClusterWork::begin(std::uint64_t transfer, const Transfer& what, Time start) {
  if (auto problem = transfers_.begin(transfer, what, start); problem && !problem_)
    problem_ = std::move(problem);
}

}  // namespace flopcast::live
