#include "measured/network/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flopcast::measured {
namespace {
constexpr const char* kAll = "all";
}

void ErrorTable::add(const std::string& group, double error, bool covered) {
  Group& into = groups_[group];
  into.errors.push_back(error);
  into.covered += covered ? 1 : 0;
}

void ErrorTable::add(const CollectiveSample& sample, const CollectiveFit::Answer& forecast) {
  const double error = forecast.time / sample.time - 1;
  const bool covered = sample.time >= forecast.low && sample.time <= forecast.high;
  const CollectiveCase& what = sample.what;
  const std::string size(collective_size_class(sample.size));
  const std::string op(name(what.op));
  const std::string where = what.nodes == 1 ? "one node" : "more nodes";
  add(kAll, error, covered);
  add("nodes/" + where, error, covered);
  add("op/" + op, error, covered);
  add("size/" + size, error, covered);
  add("basis/" + std::string(name(forecast.basis)), error, covered);
  add(fmt::format("system/{}", what.system), error, covered);
  add(fmt::format("library/{}", what.library), error, covered);
  add(fmt::format("nodes and size/{}/{}", where, size), error, covered);
  add(fmt::format("system, op and size/{}/{}/{}", what.system, op, size), error, covered);
}

void ErrorTable::add_unanswered(const CollectiveSample& sample, std::string_view why) {
  ++unanswered_;
  anomalies_.add("no_forecast", [&] {
    return fmt::format("{} {} of {} ranks on {} nodes: {}", sample.what.system,
                       name(sample.what.op), sample.what.ranks, sample.what.nodes, why);
  });
}

CollectiveErrors ErrorTable::summarise(const std::string& name, Group& group) {
  CollectiveErrors out;
  out.group = name;
  out.rows = group.errors.size();
  if (group.errors.empty()) return out;
  const auto n = static_cast<double>(group.errors.size());
  std::vector<double> sizes;
  // Sorted before they are summed: the order of rows does not change a digit.
  std::ranges::sort(group.errors);
  for (const double error : group.errors) {
    out.bias += error / n;
    sizes.push_back(std::fabs(error));
  }
  std::ranges::sort(sizes);
  for (const double size : sizes) out.mape += size / n;
  out.median = sizes[sizes.size() / 2];
  out.p95 = sizes[std::min(sizes.size() - 1, static_cast<std::size_t>(0.95 * n))];
  out.band_coverage = static_cast<double>(group.covered) / n;
  return out;
}

CollectiveValidation ErrorTable::take() && {
  CollectiveValidation result;
  for (auto& [name, group] : groups_) {
    const CollectiveErrors errors = summarise(name, group);
    if (name == kAll) {
      result.all = errors;
    } else {
      result.groups.push_back(errors);
    }
  }
  result.unanswered = unanswered_;
  result.anomalies = std::move(anomalies_);
  return result;
}

}  // namespace flopcast::measured
