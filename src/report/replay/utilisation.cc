// SM utilisation per interval, by both definitions of flopcast/report/replay.h.
#include <algorithm>
#include <limits>
#include <numeric>

#include "report/replay/gpu_changes.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// Spreads stretches of constant use, which come in order of time, over the intervals they touch.
/// Sums are integers.
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
      const std::size_t bin = bin_of(start);
      const Time until = std::min(end, bin_end_);
      sums_[bin] += (until - start).ps * weight;
      start = until;
    }
  }

  /// Each sum as a fraction of its interval times `full`; the last interval may be shorter.
  std::vector<float> fractions(std::int64_t full) const {
    std::vector<float> list(sums_.size());
    for (std::size_t bin = 0; bin < list.size(); ++bin) {
      const Time begin = from_ + Time{static_cast<std::int64_t>(bin) * interval_.ps};
      list[bin] = fraction(sums_[bin], std::min(interval_, to_ - begin), full);
    }
    return list;
  }
  /// All sums as a fraction of the whole.
  float mean(std::int64_t full) const {
    return fraction(std::accumulate(sums_.begin(), sums_.end(), std::int64_t{0}), to_ - from_,
                    full);
  }

 private:
  static float fraction(std::int64_t sum, Time length, std::int64_t full) {
    return static_cast<float>(static_cast<double>(sum) /
                              (static_cast<double>(length.ps) * static_cast<double>(full)));
  }
  std::size_t bin_of(Time at) {
    if (at >= bin_end_) {
      bin_ = (at - from_).ps / interval_.ps;
      bin_end_ = from_ + Time{(bin_ + 1) * interval_.ps};
    }
    return static_cast<std::size_t>(bin_);
  }

  Time from_, to_, interval_;
  std::vector<std::int64_t> sums_;
  std::int64_t bin_ = 0;  // the last that was added to, and where it ends
  Time bin_end_ = Time::min();
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

UtilisationCurve report::utilisation_curve(const GpuChanges& changes, Time from, Time to,
                                           Time interval) {
  UtilisationCurve result;
  result.curve.interval = interval;
  if (to <= from) return result;
  result.curve.interval = widened(interval, to - from);
  const std::int64_t sms = changes.sms();
  Histogram active(from, to, result.curve.interval);
  Histogram used(from, to, result.curve.interval);
  std::int64_t open_sms = 0;
  std::int64_t open_rows = 0;
  const std::vector<GpuChanges::Change>& list = changes.list();
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    open_sms += list[i].sms;
    open_rows += list[i].rows;
    active.add(list[i].at, list[i + 1].at, open_rows > 0 ? 1 : 0);
    if (sms > 0) used.add(list[i].at, list[i + 1].at, std::min(open_sms, sms));
  }
  result.curve.active = active.fractions(1);
  if (sms > 0) {
    result.curve.sms_used = used.fractions(sms);
    result.mean_sms = static_cast<double>(used.mean(sms));
  }
  return result;
}

Utilisation utilisation(const Trace& trace, const std::vector<Time>& start,
                        const std::vector<Time>& end, Time from, Time to, Time interval) {
  return utilisation_curve(GpuChanges(nullptr, trace, start, end), from, to, interval).curve;
}

}  // namespace flopcast
