#include "whatif/planned/tails.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace flopcast::whatif::planned {
namespace {

double time_of(const std::vector<WholeTransfer>& transfers) {
  double sum = 0;
  for (const WholeTransfer& t : transfers) sum += t.time;
  return sum;
}

/// A share of passes is one; some room for rounding.
constexpr double kMostHidden = 1.001;
/// What is left over may be a bucket, to this part of it.
constexpr double kOneBucket = 1e-4;

}  // namespace

double ring_ratio(const WholeTransfer& recorded, double bytes, std::uint32_t ranks) {
  if (ranks <= 1 || recorded.bytes <= 0) return 0;
  const double before = bus_bandwidth_factor(recorded.op, recorded.ranks);
  const double links = before > 0 ? bus_bandwidth_factor(recorded.op, ranks) / before : 1;
  return bytes / recorded.bytes * links;
}

Tail::Tail(const std::vector<double>& left, const std::vector<std::vector<WholeTransfer>>& whole,
           const std::vector<ChipLoad>& loads, double unseen, double slowed)
    : loads_(loads), hidden_(unseen), slowed_(slowed) {
  any_ = std::any_of(left.begin(), left.end(), [](double time) { return time > 0; });
  if (!any_) return;
  double most = 0;
  for (std::size_t chip = 0; chip < whole.size(); ++chip) {
    const double time = time_of(whole[chip]);
    if (time <= most) continue;
    most = time;
    told_ = whole[chip];
    told_parameters_ = loads[chip].parameters;
  }
  if (told_parameters_ <= 0) told_.clear();
  if (told_.empty()) {
    solve_compared(left);
  } else {
    solve_told(left, whole);
  }
}

/// Where a bucket is left over, passes might have hidden more: how much they can was not seen.
void Tail::solve_told(const std::vector<double>& left,
                      const std::vector<std::vector<WholeTransfer>>& all) {
  double seen = -1;
  for (std::size_t chip = 0; chip < left.size(); ++chip) {
    const ChipLoad& load = loads_[chip];
    const double whole = time_of(all[chip]);
    const double bucket = whole / std::max(1.0, load.layers);
    const double bare = (left[chip] - slowed_ * whole) / (1 - slowed_);
    const bool is_bucket = std::abs(bare - bucket) <= kOneBucket * bucket;
    if (is_bucket || load.cover <= 0) continue;
    seen = std::max(seen, std::max(0.0, whole - bare) / load.cover);
  }
  if (seen >= 0) hidden_ = seen;
}

/// Two chips whose parameters and passes are not in proportion tell rate and share. Else all that
/// is left over is in proportion to parameters.
void Tail::solve_compared(const std::vector<double>& left) {
  const ChipLoad& a = loads_.front();
  const std::size_t other = loads_.size() / 2;
  const ChipLoad& b = loads_[other];
  const double all = std::accumulate(left.begin(), left.end(), 0.0);
  double parameters = 0;
  for (const ChipLoad& load : loads_) parameters += load.parameters;
  rate_ = parameters > 0 ? all / parameters : 0;
  hidden_ = 0;
  const double det = b.parameters * a.cover - a.parameters * b.cover;
  constexpr double kTooAlike = 1e-3;
  if (other == 0 || std::abs(det) < kTooAlike * a.parameters * b.cover) return;
  const double rate = (left[other] * a.cover - left[0] * b.cover) / det;
  const double hidden = (a.parameters * left[other] - b.parameters * left[0]) / det;
  if (rate < rate_ || hidden < 0 || hidden > kMostHidden) return;
  rate_ = rate;
  hidden_ = hidden / (1 - slowed_);
}

double Tail::whole_time(const ChipLoad& load, double replicas, const TransferRatio& ratio) const {
  if (told_.empty()) return rate_ * load.parameters;
  double sum = 0;
  for (const WholeTransfer& t : told_) {
    const double bytes = t.bytes * load.parameters / told_parameters_;
    const double ranks = std::max(1.0, std::round(t.ranks * replicas));
    sum += t.time * ratio(t, bytes, static_cast<std::uint32_t>(ranks));
  }
  return sum;
}

double Tail::left(const ChipLoad& load, double replicas, const TransferRatio& ratio) const {
  if (!any_) return 0;
  const double whole = whole_time(load, replicas, ratio);
  const double bucket = load.layers > 0 ? whole / load.layers : 0;
  const double bare = std::max({whole - hidden_ * load.cover, bucket, 0.0});
  return bare + slowed_ * (whole - bare);
}

}  // namespace flopcast::whatif::planned
