// SM utilisation per interval, by both definitions of flopcast/report/replay.h.
#include <algorithm>
#include <limits>

#include "flopcast/report/replay.h"

namespace flopcast {
namespace {

/// A stretch of time during which `sms` more (or fewer) SMs and one more (or fewer) row run.
struct Change {
  Time at;
  std::int64_t sms = 0;
  std::int64_t rows = 0;
};

/// SMs of the trace's only device; 0 where there are several that differ, or none is known.
std::int64_t sm_count(const Trace& trace) {
  std::int64_t count = 0;
  for (const Device& device : trace.devices) {
    if (count != 0 && device.sm_count != count) return 0;
    count = device.sm_count;
  }
  return count;
}

std::uint64_t blocks_of(const Trace& trace, std::size_t row) {
  const Events& events = trace.events;
  if (events.category[row] != Category::kKernel || events.detail[row] == kNoDetail) return 0;
  return trace.kernels[events.detail[row]].blocks;
}

/// Whether (nearly) all kernel time has a launch shape.
bool shapes_known(const Trace& trace, const std::vector<Time>& start,
                  const std::vector<Time>& end) {
  Time known;
  Time all;
  for (std::size_t row = 0; row < trace.events.size(); ++row) {
    if (trace.events.category[row] != Category::kKernel) continue;
    all += end[row] - start[row];
    if (blocks_of(trace, row) > 0) known += end[row] - start[row];
  }
  return all.ps > 0 && known.ps >= all.ps / 100 * 99;
}

std::vector<Change> changes(const Trace& trace, const std::vector<Time>& start,
                            const std::vector<Time>& end, std::int64_t sms) {
  std::vector<Change> list;
  for (std::size_t row = 0; row < trace.events.size(); ++row) {
    if (!is_gpu_work(trace.events.category[row]) || end[row] <= start[row]) continue;
    const auto capped =
        static_cast<std::int64_t>(std::min(blocks_of(trace, row), static_cast<std::uint64_t>(sms)));
    list.push_back({start[row], capped, 1});
    list.push_back({end[row], -capped, -1});
  }
  std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return list;
}

/// Spreads stretches of constant use over the intervals they touch. Sums are integers.
class Histogram {
 public:
  Histogram(Time from, Time to, Time interval)
      : from_(from), to_(to), interval_(interval), sums_(bins()) {}

  std::size_t bins() const {
    return static_cast<std::size_t>((to_ - from_).ps + interval_.ps - 1) /
           static_cast<std::size_t>(interval_.ps);
  }

  void add(Time start, Time end, std::int64_t weight) {
    start = std::max(start, from_);
    end = std::min(end, to_);
    while (weight > 0 && start < end) {
      const std::int64_t bin = (start - from_).ps / interval_.ps;
      const Time bin_end = std::min(end, from_ + Time{(bin + 1) * interval_.ps});
      sums_[static_cast<std::size_t>(bin)] += (bin_end - start).ps * weight;
      start = bin_end;
    }
  }

  /// Each sum as a fraction of its interval times `full`; the last interval may be shorter.
  std::vector<float> fractions(std::int64_t full) const {
    std::vector<float> list(sums_.size());
    for (std::size_t bin = 0; bin < list.size(); ++bin) {
      const Time begin = from_ + Time{static_cast<std::int64_t>(bin) * interval_.ps};
      const Time length = std::min(interval_, to_ - begin);
      list[bin] = static_cast<float>(static_cast<double>(sums_[bin]) /
                                     (static_cast<double>(length.ps) * static_cast<double>(full)));
    }
    return list;
  }

 private:
  Time from_, to_, interval_;
  std::vector<std::int64_t> sums_;
};

/// An interval wide enough that the window has at most a million of them.
Time widened(Time interval, Time window) {
  constexpr std::int64_t kMost = 1'000'000;
  const std::int64_t least = window.ps / kMost + 1;
  Time result{std::max<std::int64_t>(interval.ps, 1)};
  while (result.ps < least && result.ps <= std::numeric_limits<std::int64_t>::max() / 10) {
    result.ps *= 10;
  }
  return result;
}

}  // namespace

Utilisation utilisation(const Trace& trace, const std::vector<Time>& start,
                        const std::vector<Time>& end, Time from, Time to, Time interval) {
  Utilisation result;
  if (to <= from) {
    result.interval = interval;
    return result;
  }
  result.interval = widened(interval, to - from);
  const std::int64_t sms = sm_count(trace);
  const bool with_sms = sms > 0 && shapes_known(trace, start, end);
  Histogram active(from, to, result.interval);
  Histogram used(from, to, result.interval);
  std::int64_t open_sms = 0;
  std::int64_t open_rows = 0;
  const std::vector<Change> list = changes(trace, start, end, sms);
  for (std::size_t i = 0; i < list.size(); ++i) {
    open_sms += list[i].sms;
    open_rows += list[i].rows;
    if (i + 1 == list.size()) break;
    active.add(list[i].at, list[i + 1].at, open_rows > 0 ? 1 : 0);
    if (with_sms) used.add(list[i].at, list[i + 1].at, std::min(open_sms, sms));
  }
  result.active = active.fractions(1);
  if (with_sms) result.sms_used = used.fractions(sms);
  return result;
}

}  // namespace flopcast
