#include "report/replay/gpu_activity.h"

#include <algorithm>
#include <array>

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::uint8_t bit_of(GpuRow row) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(row));
}

void add(Breakdown& sum, std::uint8_t running, Time length) {
  const auto runs = [running](GpuRow row) { return (running & bit_of(row)) != 0; };
  const bool compute = runs(GpuRow::kCompute);
  const bool transfer = runs(GpuRow::kCommunication);
  const bool for_rank = runs(GpuRow::kWaitingForRank);
  const bool for_host = runs(GpuRow::kWaitingForHost);
  const bool communication = transfer || for_rank || for_host || runs(GpuRow::kWaitingForStage);
  if (compute && communication) {
    sum.overlapped += length;
  } else if (compute) {
    sum.exposed_compute += length;
  } else if (communication) {
    sum.exposed_communication += length;
    if (transfer) return;
    sum.waiting += length;
    if (for_rank) return;
    (for_host ? sum.waiting_for_host : sum.waiting_for_stage) += length;
  } else {
    sum.other += length;
    if (running == 0) sum.idle += length;
  }
}

}  // namespace

GpuActivity::GpuActivity(const GpuChanges& changes) {
  std::array<std::int64_t, kGpuRowCount> open{};
  Breakdown sum;
  const std::vector<GpuChanges::Change>& list = changes.list();
  for (std::size_t i = 0; i < list.size();) {
    const Time at = list[i].at;
    if (!moments_.empty()) add(sum, moments_.back().running, at - moments_.back().at);
    for (; i < list.size() && list[i].at == at; ++i)
      open[static_cast<std::size_t>(list[i].row)] += list[i].rows;
    std::uint8_t running = 0;
    for (std::size_t row = 0; row < kGpuRowCount; ++row) {
      if (open[row] > 0)
        running = static_cast<std::uint8_t>(running | bit_of(static_cast<GpuRow>(row)));
    }
    moments_.push_back({at, running, sum});
  }
}

Breakdown GpuActivity::until(Time time) const {
  const auto after = std::upper_bound(moments_.begin(), moments_.end(), time,
                                      [](Time t, const Moment& m) { return t < m.at; });
  if (after == moments_.begin()) return {};
  const Moment& moment = *(after - 1);
  Breakdown sum = moment.before;
  add(sum, moment.running, time - moment.at);
  return sum;
}

Breakdown GpuActivity::within(Time from, Time to) const {
  if (to < from) to = from;
  const Breakdown a = until(from);
  const Breakdown b = until(to);
  Breakdown parts;
  parts.exposed_compute = b.exposed_compute - a.exposed_compute;
  parts.exposed_communication = b.exposed_communication - a.exposed_communication;
  parts.waiting = b.waiting - a.waiting;
  parts.waiting_for_host = b.waiting_for_host - a.waiting_for_host;
  parts.waiting_for_stage = b.waiting_for_stage - a.waiting_for_stage;
  parts.overlapped = b.overlapped - a.overlapped;
  const Time kernels = parts.exposed_compute + parts.exposed_communication + parts.overlapped;
  parts.other = to - from - kernels;
  // Before the first row nothing is counted, and nothing runs.
  const Time copies = (b.other - b.idle) - (a.other - a.idle);
  parts.idle = parts.other - copies;
  return parts;
}

}  // namespace flopcast
