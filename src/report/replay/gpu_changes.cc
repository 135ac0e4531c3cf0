#include "report/replay/gpu_changes.h"

#include <algorithm>
#include <iterator>

namespace flopcast::report {
namespace {

using Change = GpuChanges::Change;

/// SMs of the trace's only device; 0 where there are several that differ, or none is known.
std::int32_t sm_count(const Trace& trace) {
  std::int32_t count = 0;
  for (const Device& device : trace.devices) {
    if (count != 0 && device.sm_count != count) return 0;
    count = device.sm_count;
  }
  return std::max(count, 0);
}

std::uint64_t blocks_of(const Trace& trace, std::size_t row) {
  const Events& events = trace.events;
  if (events.category[row] != Category::kKernel || events.detail[row] == kNoDetail) return 0;
  return trace.kernels[events.detail[row]].blocks;
}

void sort_by_time(std::vector<Change>& list) {
  const auto sooner = [](const Change& a, const Change& b) { return a.at < b.at; };
  if (!std::is_sorted(list.begin(), list.end(), sooner))
    std::sort(list.begin(), list.end(), sooner);
}

}  // namespace

KernelNames::KernelNames(const StringTable& strings) : communication_(strings.size()) {
  for (std::uint32_t id = 0; id < strings.size(); ++id) {
    communication_[id] = is_communication_kernel(strings[id]);
  }
}

GpuChanges::GpuChanges(const KernelNames* names, const Trace& trace, const std::vector<Time>& start,
                       const std::vector<Time>& end, const WaitOfRow& waits) {
  const Events& events = trace.events;
  const std::int32_t sms = sm_count(trace);
  std::vector<Change> begins, ends, late;
  Time known, all;  // kernel time
  for (std::size_t row = 0; row < events.size(); ++row) {
    if (!is_gpu_work(events.category[row])) continue;
    GpuRow kind = GpuRow::kCopy;
    const std::uint64_t blocks = blocks_of(trace, row);
    if (events.category[row] == Category::kKernel) {
      const bool communication = names != nullptr && names->is_communication(events.name[row]);
      kind = communication ? GpuRow::kCommunication : GpuRow::kCompute;
      all += end[row] - start[row];
      if (blocks > 0) known += end[row] - start[row];
    }
    if (end[row] < start[row]) continue;
    const auto asked = static_cast<std::int32_t>(std::min(blocks, static_cast<std::uint64_t>(sms)));
    begins.push_back({start[row], asked, kind, 1});
    ends.push_back({end[row], -asked, kind, -1});
    if (kind != GpuRow::kCommunication || waits.empty()) continue;
    const auto wait = waits.find(static_cast<std::uint32_t>(row));
    if (wait == waits.end() || wait->second.all <= Time{}) continue;
    // Until the last rank has come the row waits, which takes its place among what communicates.
    const RowWait& w = wait->second;
    const Time come = std::min(start[row] + w.all, end[row]);
    const Time host = std::max(start[row], come - w.for_host);
    const GpuRow first = w.by_plan ? GpuRow::kWaitingForStage : GpuRow::kWaitingForRank;
    begins.back().row = first;
    late.push_back({host, 0, first, -1});
    late.push_back({host, 0, GpuRow::kWaitingForHost, 1});
    late.push_back({come, 0, GpuRow::kWaitingForHost, -1});
    late.push_back({come, 0, GpuRow::kCommunication, 1});
  }
  if (all.ps > 0 && known.ps >= all.ps / 100 * 99) sms_ = sms;
  begins.insert(begins.end(), late.begin(), late.end());
  sort_by_time(begins);  // each nearly is
  sort_by_time(ends);
  list_.reserve(begins.size() + ends.size());
  std::merge(begins.begin(), begins.end(), ends.begin(), ends.end(), std::back_inserter(list_),
             [](const Change& a, const Change& b) { return a.at < b.at; });
}

}  // namespace flopcast::report
