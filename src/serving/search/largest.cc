#include "flopcast/serving/largest.h"

#include <algorithm>
#include <cmath>

namespace flopcast {
namespace {

/// Loads as whole numbers of the smallest step there is.
class LoadGrid {
 public:
  explicit LoadGrid(const LoadRange& range)
      : scale_(range.whole ? 1 : kFine),
        least_(std::llround(range.least * scale_)),
        most_(std::llround(range.most * scale_)) {}

  double load(std::int64_t place) const { return static_cast<double>(place) / scale_; }
  std::int64_t place(double load) const { return std::llround(load * scale_); }
  std::int64_t beyond() const { return most_ + 1; }

  /// The one nearest to so much, of at most three digits.
  std::int64_t at(double place) const {
    std::int64_t unit = 1;
    while (place >= static_cast<double>(1000 * unit)) unit *= 10;
    const std::int64_t units = std::llround(place / static_cast<double>(unit));
    return std::clamp(units * unit, least_, most_);
  }
  /// Between two places, the middle of their logarithms; `low` where nothing is between them.
  std::int64_t between(std::int64_t low, std::int64_t high) const {
    const auto from = static_cast<double>(std::max(low, least_));
    const std::int64_t middle = at(std::sqrt(from * static_cast<double>(high)));
    if (middle > low && middle < high) return middle;
    std::int64_t unit = 1;
    while (low >= 1000 * unit) unit *= 10;
    const std::int64_t next = std::clamp(low / unit * unit + unit, least_, most_);
    return next > low && next < high ? next : low;
  }

 private:
  static constexpr double kFine = 1e4;
  double scale_;
  std::int64_t least_, most_;
};

class LoadBisection {
 public:
  LoadBisection(const LoadRange& range, const std::function<Result<TriedLoad>(double)>& try_load,
                double enough)
      : grid_(range), try_load_(try_load), enough_(enough), high_(grid_.beyond()) {}

  Result<LargestLoad> find() {
    bool wanted = enough_ == 0;
    if (!wanted) {
      if (auto problem = may_reach(wanted)) return *std::move(problem);
    }
    if (!wanted) return std::move(found_);
    while (true) {
      if (auto problem = bisect()) return *std::move(problem);
      const std::int64_t high = high_;
      if (auto problem = look_below()) return *std::move(problem);
      if (high_ == high || decided()) break;
    }
    found_.load = low_ == 0 ? 0 : grid_.load(low_);
    return std::move(found_);
  }

 private:
  using Problem = std::optional<Diagnostic>;
  bool decided() const { return enough_ > 0 && grid_.load(high_) <= enough_; }

  std::vector<TriedLoad>::iterator place_of(double load) {
    return std::lower_bound(found_.tried.begin(), found_.tried.end(), load,
                            [](const TriedLoad& one, double at) { return one.load < at; });
  }

  /// Tries it, once. @param holds whether it does
  Problem try_place(std::int64_t place, bool& holds) {
    const double load = grid_.load(place);
    const auto known = place_of(load);
    if (known != found_.tried.end() && known->load == load) {
      holds = known->holds;
      return std::nullopt;
    }
    const Result<TriedLoad> tried = try_load_(load);
    if (!tried) return tried.error();
    holds = tried->holds;
    found_.tried.insert(known, *tried);
    return std::nullopt;
  }

  Problem bisect() {
    while (!decided()) {
      const std::int64_t place = grid_.between(low_, high_);
      if (place == low_) break;
      bool holds = false;
      if (auto problem = try_place(place, holds)) return problem;
      (holds ? low_ : high_) = place;
    }
    return std::nullopt;
  }

  /// Whether the bisection may end at `enough` or above: either a load above it that is asked on the way there holds, or
  /// all below do, of which the largest is asked first.
  Problem may_reach(bool& reaches) {
    std::vector<std::int64_t> below;
    std::int64_t low = low_, high = high_;
    for (std::int64_t place = 0; (place = grid_.between(low, high)) != low;) {
      if (grid_.load(place) <= enough_) {
        below.push_back(low = place);
        continue;
      }
      if (auto problem = try_place(place, reaches)) return problem;
      if (reaches) return std::nullopt;
      high = place;
    }
    reaches = true;
    while (reaches && !below.empty()) {
      if (auto problem = try_place(below.back(), reaches)) return problem;
      below.pop_back();
    }
    return std::nullopt;
  }

  /// Loads below the one that holds; where one does not, the bisection goes on below that.
  Problem look_below() {
    for (const double part : {0.5, 0.75, 0.875}) {
      const std::int64_t place = grid_.at(part * static_cast<double>(low_));
      if (low_ == 0 || place >= low_) continue;
      bool holds = false;
      if (auto problem = try_place(place, holds)) return problem;
      if (holds) continue;
      high_ = place;
      low_ = 0;
      const double limit = grid_.load(high_);
      for (const TriedLoad& one : found_.tried) {
        if (one.load < limit && one.holds) low_ = grid_.place(one.load);
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

  LoadGrid grid_;
  const std::function<Result<TriedLoad>(double)>& try_load_;
  double enough_;
  std::int64_t low_ = 0, high_;  ///< holds (0: none yet); does not, or is beyond
  LargestLoad found_;
};

}  // namespace

LoadRange load_range(ServingWorkload::Kind kind, std::int64_t seats) {
  switch (kind) {
    case ServingWorkload::Kind::kClosed:
      return {1, static_cast<double>(std::max<std::int64_t>(seats, 1)), true};
    case ServingWorkload::Kind::kRate:
      return {0.01, 1e5, false};
    case ServingWorkload::Kind::kTrace:
      break;
  }
  return {0.01, 1e3, false};
}

double LargestLoad::next() const {
  for (const TriedLoad& one : tried) {
    if (one.load > load && !one.holds) return one.load;
  }
  return 0;
}

Result<LargestLoad> largest_load(const LoadRange& range,
                                 const std::function<Result<TriedLoad>(double)>& try_load,
                                 double enough) {
  return LoadBisection(range, try_load, enough).find();
}

}  // namespace flopcast
