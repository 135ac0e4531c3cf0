#include "network/fit/copies.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "network/collective/systems.h"

namespace flopcast::network {
namespace {

using SampleRow = std::tuple<CollectiveCase, double, double>;

SampleRow row_of(const CollectiveSample& sample, const std::string& system) {
  CollectiveCase what = sample.what;
  what.system = system;
  return {std::move(what), sample.size.value, sample.time.value};
}

std::string origin_of(const CollectiveSample& sample) {
  return CollectiveSystems::builtin().copied_from(sample.what.system, name(sample.what.op));
}

}  // namespace

void leave_out_copies(std::vector<CollectiveSample>& samples, Anomalies& anomalies) {
  std::set<std::pair<std::string, CollectiveOp>> origins;
  for (const CollectiveSample& sample : samples) {
    if (std::string from = origin_of(sample); !from.empty())
      origins.emplace(std::move(from), sample.what.op);
  }
  if (origins.empty()) return;
  std::set<SampleRow> originals;
  for (const CollectiveSample& sample : samples) {
    const std::string& system = sample.what.system;
    if (origins.contains({system, sample.what.op})) originals.insert(row_of(sample, system));
  }
  std::erase_if(samples, [&](const CollectiveSample& sample) {
    const std::string from = origin_of(sample);
    if (from.empty() || !originals.contains(row_of(sample, from))) return false;
    anomalies.add("copied_from_another_system", [&] {
      return fmt::format("{} of {} has the times of {}", name(sample.what.op), sample.what.system,
                         from);
    });
    return true;
  });
}

}  // namespace flopcast::network
