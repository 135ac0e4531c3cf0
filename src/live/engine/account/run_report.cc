#include "live/engine/account/run_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "live/engine/account/kernel_name.h"

namespace flopcast::live {
namespace {

std::vector<LiveCoverage> listed(const std::map<std::string, Coverage>& by_name) {
  std::vector<LiveCoverage> all;
  for (const auto& [name, coverage] : by_name)
    all.push_back({kernel_name(name), coverage.kernels, coverage.time});
  std::stable_sort(all.begin(), all.end(),
                   [](const LiveCoverage& a, const LiveCoverage& b) { return a.time > b.time; });
  return all;
}

}  // namespace

RunReporter::RunReporter(const Cluster& cluster, std::string label, bool timeline,
                         std::uint32_t world)
    : label_(std::move(label)) {
  if (!timeline) return;
  timeline_ = std::make_shared<TimelineWriter>(
      cluster.chip.name, static_cast<std::int32_t>(cluster.chip.cores), world);
}

void RunReporter::take(Session& session, Time before) {
  passed_ = session.passed();
  for (const ToldTask& told : session.take_settled(before)) {
    const Processor& on = session.run().processor(told.task.processor);
    const std::string_view name = session.name_of(told.task.name);
    account_.add(told, on, name);
    if (timeline_) timeline_->add(told, on, name, session.name_of(told.note.group));
  }
}

LiveReport RunReporter::report(const ClusterWork& work, const Session& session) const {
  LiveReport report;
  report.cluster = label_;
  report.virtual_time = std::max(account_.end(), session.passed());
  report.tasks = account_.tasks();
  report.ranks = account_.ranks();
  report.coverage = listed(work.kernels().by_basis());
  report.kernels = listed(work.kernels().by_name());
  for (const auto& [name, one] : work.kernels().unknown()) {
    report.unknown.push_back(
        {kernel_name(name), one.priced.kernels, one.priced.time, one.bytes, one.floor});
  }
  std::stable_sort(report.unknown.begin(), report.unknown.end(),
                   [](const LiveUnknown& a, const LiveUnknown& b) { return a.floor > b.floor; });
  report.unmatched = work.kernels().unmatched();
  if (timeline_) {
    report.timeline = [writer = timeline_, label = label_,
                       ranks = report.ranks](std::optional<std::int32_t> rank) {
      return writer->traces(label, ranks, rank);
    };
  }
  return report;
}

}  // namespace flopcast::live
