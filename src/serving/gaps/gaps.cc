#include "flopcast/serving/gaps.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/numeric/rank.h"

namespace flopcast {
namespace {

constexpr int kFineBits = 9;  // 512 buckets an octave
constexpr std::int64_t kFine = std::int64_t{1} << kFineBits;

/// Lengths below 512 ps have a bucket each; above, an octave has 512.
std::int64_t bucket_of(std::int64_t length) {
  if (length < kFine) return length;
  const int octave = 63 - kFineBits - std::countl_zero(static_cast<std::uint64_t>(length));
  return (octave + 1) * kFine + (length >> octave) - kFine;
}

/// The least length of a bucket; of one past the last there may be, the most there is.
std::int64_t least_of(std::int64_t index) {
  if (index < kFine) return index;
  const std::int64_t octave = index / kFine - 1;
  if (octave > 62 - kFineBits) return std::numeric_limits<std::int64_t>::max();
  return (kFine + index % kFine) << octave;
}

}  // namespace

TokenGaps::Bucket& TokenGaps::bucket(std::int64_t index) {
  const std::int64_t octave = index / kFine * kFine;
  if (buckets_.empty()) lowest_ = octave;
  if (octave < lowest_) {
    buckets_.insert(buckets_.begin(), static_cast<std::size_t>(lowest_ - octave), Bucket{});
    lowest_ = octave;
  }
  const auto at = static_cast<std::size_t>(index - lowest_);
  if (at >= buckets_.size()) buckets_.resize(static_cast<std::size_t>(octave + kFine - lowest_));
  return buckets_[at];
}

void TokenGaps::add(Time gap, std::int64_t count) { add_run(gap, Time{}, 1, count); }

void TokenGaps::add_run(Time first, Time growth, std::int64_t steps, std::int64_t count) {
  if (steps <= 0 || count <= 0) return;
  std::int64_t length = std::max<std::int64_t>(first.ps, 0);
  const Time last{length + growth.ps * (steps - 1)};
  max_ = std::max({max_, Time{length}, last});
  count_ += steps * count;
  while (steps > 0) {
    const std::int64_t index = bucket_of(length), least = least_of(index);
    // How many of the run fall into this bucket before it leaves it, upwards or downwards.
    std::int64_t here = steps;
    if (growth.ps > 0) here = std::min(here, (least_of(index + 1) - 1 - length) / growth.ps + 1);
    if (growth.ps < 0) here = std::min(here, (length - least) / -growth.ps + 1);
    const Wide excess = static_cast<Wide>(length - least) * here +
                        static_cast<Wide>(growth.ps) * here * (here - 1) / 2;
    Bucket& into = bucket(index);
    into.count += here * count;
    into.excess += excess * count;
    sum_ += (excess + static_cast<Wide>(least) * here) * count;
    length += growth.ps * here;
    steps -= here;
  }
}

void TokenGaps::merge(const TokenGaps& other) {
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) {
    const Bucket& from = other.buckets_[i];
    if (from.count == 0) continue;
    Bucket& into = bucket(other.lowest_ + static_cast<std::int64_t>(i));
    into.count += from.count;
    into.excess += from.excess;
  }
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

void TokenGaps::clear() { *this = {}; }

Seconds TokenGaps::mean() const {
  if (count_ == 0) return {};
  return {static_cast<double>(sum_) / static_cast<double>(count_) * 1e-12};
}

Time TokenGaps::percentile(double percent) const {
  if (count_ == 0) return {};
  std::int64_t rank = nearest_rank(count_, percent);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& one = buckets_[i];
    if (rank >= one.count) {
      rank -= one.count;
      continue;
    }
    const std::int64_t least = least_of(lowest_ + static_cast<std::int64_t>(i));
    return {least + static_cast<std::int64_t>(one.excess / one.count)};
  }
  return max_;
}

}  // namespace flopcast
