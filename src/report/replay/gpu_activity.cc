#include "report/replay/gpu_activity.h"

#include <algorithm>
#include <array>

namespace flopcast {

using namespace report;  // the room's own names

namespace {

enum Class : std::uint8_t { kComputeRow, kCommunicationRow, kCopyRow, kClassCount };

struct Boundary {
  Time at;
  Class row = kComputeRow;
  std::int8_t change = 0;
};

Class class_of(const KernelNames& names, const Events& events, std::size_t row) {
  if (events.category[row] != Category::kKernel) return kCopyRow;
  return names.is_communication(events.name[row]) ? kCommunicationRow : kComputeRow;
}

std::vector<Boundary> boundaries(const KernelNames& names, const Trace& trace,
                                 const std::vector<Time>& start, const std::vector<Time>& end) {
  std::vector<Boundary> list;
  for (std::size_t row = 0; row < trace.events.size(); ++row) {
    if (!is_gpu_work(trace.events.category[row]) || end[row] < start[row]) continue;
    const Class c = class_of(names, trace.events, row);
    list.push_back({start[row], c, 1});
    list.push_back({end[row], c, -1});
  }
  // Order among equal times does not matter: only the state after all of them is kept.
  std::sort(list.begin(), list.end(),
            [](const Boundary& a, const Boundary& b) { return a.at < b.at; });
  return list;
}

void add(Breakdown& sum, std::uint8_t running, Time length) {
  const bool compute = (running & (1u << kComputeRow)) != 0;
  const bool communication = (running & (1u << kCommunicationRow)) != 0;
  if (compute && communication) {
    sum.overlapped += length;
  } else if (compute) {
    sum.exposed_compute += length;
  } else if (communication) {
    sum.exposed_communication += length;
  } else {
    sum.other += length;
    if (running == 0) sum.idle += length;
  }
}

}  // namespace

KernelNames::KernelNames(const StringTable& strings) : communication_(strings.size()) {
  for (std::uint32_t id = 0; id < strings.size(); ++id) {
    communication_[id] = is_communication_kernel(strings[id]);
  }
}

GpuActivity::GpuActivity(const KernelNames& names, const Trace& trace,
                         const std::vector<Time>& start, const std::vector<Time>& end) {
  std::array<std::int64_t, kClassCount> open{};
  Breakdown sum;
  const std::vector<Boundary> list = boundaries(names, trace, start, end);
  for (std::size_t i = 0; i < list.size();) {
    const Time at = list[i].at;
    if (!moments_.empty()) add(sum, moments_.back().running, at - moments_.back().at);
    for (; i < list.size() && list[i].at == at; ++i) open[list[i].row] += list[i].change;
    std::uint8_t running = 0;
    for (unsigned c = 0; c < kClassCount; ++c) {
      if (open[c] > 0) running = static_cast<std::uint8_t>(running | (1u << c));
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
  parts.overlapped = b.overlapped - a.overlapped;
  const Time kernels = parts.exposed_compute + parts.exposed_communication + parts.overlapped;
  parts.other = to - from - kernels;
  // Before the first row nothing is counted, and nothing runs.
  const Time copies = (b.other - b.idle) - (a.other - a.idle);
  parts.idle = parts.other - copies;
  return parts;
}

Breakdown breakdown(const TraceSet& set, const Trace& trace, const std::vector<Time>& start,
                    const std::vector<Time>& end, Time from, Time to) {
  return GpuActivity(KernelNames(set.strings), trace, start, end).within(from, to);
}

}  // namespace flopcast
