#include "mapping/partition/tile_split.h"

#include <algorithm>
#include <limits>

namespace flopcast::mapping {
namespace {

std::int64_t ceil_div(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// The factors f = 1, 2, ... at which ceil(extent / f) falls, and that quotient: at most
/// 2 sqrt(extent) of them.
struct Step {
  std::int64_t factor, quotient;
};
std::vector<Step> steps_of(std::int64_t extent, std::int64_t most) {
  std::vector<Step> steps;
  for (std::int64_t factor = 1; factor <= most;) {
    const std::int64_t quotient = ceil_div(extent, factor);
    steps.push_back({factor, quotient});
    if (quotient == 1) break;
    // The first factor with a smaller quotient: extent / factor <= quotient - 1.
    factor = std::max(factor + 1, ceil_div(extent, quotient - 1));
  }
  return steps;
}

/// Fewest tiles of a curve that finish within `cycles`; 0: none do.
unsigned tiles_within(const TileCurve& curve, double cycles) {
  const auto at = std::partition_point(curve.points.begin(), curve.points.end(),
                                       [&](const auto& point) { return point.cycles > cycles; });
  return at == curve.points.end() ? 0 : at->tiles;
}

bool fits(std::span<const TileCurve* const> curves, unsigned tiles, double cycles) {
  std::uint64_t needed = 0;
  for (const TileCurve* curve : curves) {
    const unsigned own = tiles_within(*curve, cycles);
    if (own == 0) return false;
    needed += own;
    if (needed > tiles) return false;
  }
  return true;
}

/// The least time below `best` among the steps of `curve` at which all fit; `best` if none does.
double better_step(const TileCurve& curve, double best, std::span<const TileCurve* const> curves,
                   unsigned tiles) {
  const auto below = std::partition_point(curve.points.begin(), curve.points.end(),
                                          [&](const auto& point) { return point.cycles >= best; });
  // Mostly the longest of them does not fit, and one look is enough.
  if (below == curve.points.end() || !fits(curves, tiles, below->cycles)) return best;
  const auto end = std::partition_point(below, curve.points.end(), [&](const auto& point) {
    return fits(curves, tiles, point.cycles);
  });
  return std::prev(end)->cycles;
}

}  // namespace

TileCurve tile_curve(const TileWork& work, unsigned tiles, unsigned width, unsigned height) {
  TileCurve curve;
  const std::vector<Step> lanes = steps_of(ceil_div(work.outer * work.m, width), tiles);
  std::vector<Step> stages{{1, work.n}};
  double depth = 1;
  if (work.k > 0) {
    stages = steps_of(ceil_div(work.n, height), tiles);
    depth = static_cast<double>(work.k);
  }
  std::vector<TileCurve::Point> all;
  for (const Step& lane : lanes) {
    for (const Step& stage : stages) {
      if (lane.factor * stage.factor > tiles) break;
      all.push_back({static_cast<unsigned>(lane.factor * stage.factor),
                     static_cast<double>(lane.quotient) * static_cast<double>(stage.quotient) *
                         depth * work.repeats});
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.tiles != b.tiles ? a.tiles < b.tiles : a.cycles < b.cycles;
  });
  curve.work = std::numeric_limits<double>::infinity();
  for (const TileCurve::Point& point : all) {
    curve.work = std::min(curve.work, point.cycles * point.tiles);
    if (curve.points.empty() || point.cycles < curve.points.back().cycles) {
      curve.points.push_back(point);
    }
  }
  return curve;
}

double split_cycles(std::span<const TileCurve* const> curves, unsigned tiles) {
  double best = curves.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const TileCurve* curve : curves) {
    best = better_step(*curve, best, curves, tiles);
  }
  return best;
}

TileSplit split_tiles(std::span<const TileCurve* const> curves, unsigned tiles) {
  TileSplit split;
  split.cycles = split_cycles(curves, tiles);
  for (const TileCurve* curve : curves) split.tiles.push_back(tiles_within(*curve, split.cycles));
  return split;
}

}  // namespace flopcast::mapping
