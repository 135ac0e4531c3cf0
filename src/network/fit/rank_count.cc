#include "network/fit/rank_count.h"

#include <algorithm>
#include <cmath>

#include "base/text/numbers.h"

namespace flopcast::network {
namespace {

constexpr std::int64_t kMostCounted = 1 << 24;

struct Span {
  double low, high;
};

/// A printed number and what it may have been rounded from.
std::optional<Span> printed(std::string_view text) {
  const std::optional<double> value = parse_number(text);
  if (!value || !(*value > 0)) return std::nullopt;
  const std::size_t point = text.find('.');
  const double decimals =
      point == std::string_view::npos ? 0 : static_cast<double>(text.size() - point - 1);
  const double half = 0.501 * std::pow(10, -decimals);
  return Span{*value - half, *value + half};
}

/// Ranks at which 2 (n - 1) / n, or (n - 1) / n, is the ratio.
double ranks_at(double ratio, double factor) {
  return ratio < factor ? factor / (factor - ratio) : static_cast<double>(kMostCounted);
}

}  // namespace

void RankCount::add(double bytes, std::string_view time, std::string_view algorithm,
                    std::string_view bus) {
  const auto us = printed(time), told = printed(algorithm), used = printed(bus);
  if (!us || !told || !used || us->low <= 0 || told->low <= 0 || used->low <= 0) return;
  Span rate = *told;
  // Bytes over time say the same with more digits, where the program counts them so.
  const Span counted = {bytes / us->high / 1e3, bytes / us->low / 1e3};
  if (counted.low <= rate.high && counted.high >= rate.low) {
    rate = {std::max(rate.low, counted.low), std::min(rate.high, counted.high)};
  }
  low_ = std::max(low_, used->low / rate.high);
  high_ = std::min(high_, used->high / rate.low);
}

std::optional<RankCount::Range> RankCount::of(CollectiveOp op) const {
  double factor = 0;
  switch (op) {
    case CollectiveOp::kAllReduce:
      factor = 2;
      break;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
      factor = 1;
      break;
    default:
      return std::nullopt;  // bus and algorithm bandwidth are the same, whatever the ranks
  }
  if (low_ == 0) return std::nullopt;
  Range range = {1, 0};
  if (low_ >= factor || low_ > high_) return range;
  range.least =
      std::max<std::int64_t>(2, static_cast<std::int64_t>(std::ceil(ranks_at(low_, factor))));
  range.most = static_cast<std::int64_t>(
      std::min<double>(kMostCounted, std::floor(ranks_at(high_, factor))));
  return range;
}

}  // namespace flopcast::network
