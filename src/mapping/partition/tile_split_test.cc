#include "mapping/partition/tile_split.h"

#include <gtest/gtest.h>

#include "mapping/partition/testing.h"

namespace flopcast::mapping {
namespace {

using test::Random;

constexpr unsigned kWidth = 32, kHeight = 6;

TileSplit split_of(const std::vector<TileCurve>& curves, unsigned tiles) {
  std::vector<const TileCurve*> all;
  for (const TileCurve& curve : curves) all.push_back(&curve);
  EXPECT_EQ(split_cycles(all, tiles), split_tiles(all, tiles).cycles);
  return split_tiles(all, tiles);
}

std::vector<std::pair<unsigned, double>> points_of(const TileCurve& curve) {
  std::vector<std::pair<unsigned, double>> points;
  for (const TileCurve::Point& point : curve.points) points.emplace_back(point.tiles, point.cycles);
  return points;
}

TEST(TileCurve, OfTheWorkedGemm) {
  const TileCurve curve = tile_curve({1, 100, 12, 10, 1}, 8, kWidth, kHeight);
  const std::vector<std::pair<unsigned, double>> expected = {{1, 80}, {2, 40}, {4, 20}, {8, 10}};
  EXPECT_EQ(points_of(curve), expected);
  EXPECT_EQ(curve.work, 80);
  EXPECT_EQ(split_of({curve}, 8).cycles, 10);
  const TileSplit twins = split_of({curve, curve}, 8);
  EXPECT_EQ(twins.cycles, 20);
  EXPECT_EQ(twins.tiles, (std::vector<unsigned>{4, 4}));
}

TEST(TileCurve, OfElementwiseKernels) {
  // ceil(100 / 32) = 4 rounds of 12 columns; repeated for every tile of the sequence.
  const TileCurve curve = tile_curve({1, 100, 12, 0, 5}, 8, kWidth, kHeight);
  const std::vector<std::pair<unsigned, double>> expected = {{1, 240}, {2, 120}, {4, 60}};
  EXPECT_EQ(points_of(curve), expected);
}

TEST(TileSplit, IsInfiniteWithMoreKernelsThanTiles) {
  const TileCurve curve = tile_curve({1, 8, 8, 8, 1}, 2, kWidth, kHeight);
  EXPECT_TRUE(std::isfinite(split_of({curve, curve}, 2).cycles));
  EXPECT_TRUE(std::isinf(split_of({curve, curve, curve}, 2).cycles));
  EXPECT_EQ(split_of({}, 2).cycles, 0);
}

/// Cycles on exactly so many tiles at most, all factorisations tried.
double cycles_on(const TileWork& work, unsigned tiles, unsigned width, unsigned height) {
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  double best = INFINITY;
  for (unsigned lanes = 1; lanes <= tiles; ++lanes) {
    for (unsigned stages = 1; lanes * stages <= tiles; ++stages) {
      const std::int64_t columns = work.k > 0 ? ceil_div(work.n, stages * height) * work.k : work.n;
      best = std::min(best, static_cast<double>(work.outer) * work.repeats *
                                static_cast<double>(ceil_div(work.m, lanes * width) * columns));
    }
  }
  return best;
}

TileWork random_work(Random& random) {
  TileWork work;
  work.outer = 1;
  work.m = 1 + static_cast<std::int64_t>(test::below(random, 60));
  work.n = 1 + static_cast<std::int64_t>(test::below(random, 30));
  work.k = static_cast<std::int64_t>(test::below(random, 6));
  work.repeats = 1 + test::size_below(random, 3);
  return work;
}

TEST(TileCurve, IsMonotoneAndTheBestOfAllFactorisations) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const TileWork work = random_work(random);
    const TileCurve curve = tile_curve(work, 24, 4, 3);
    ASSERT_FALSE(curve.points.empty());
    ASSERT_EQ(curve.points[0].tiles, 1U);
    std::size_t at = 0;
    double least_work = INFINITY;
    for (unsigned tiles = 1; tiles <= 24; ++tiles) {
      if (at + 1 < curve.points.size() && curve.points[at + 1].tiles == tiles) {
        ASSERT_LT(curve.points[at + 1].cycles, curve.points[at].cycles);
        ++at;
      }
      const double cycles = cycles_on(work, tiles, 4, 3);
      ASSERT_EQ(curve.points[at].cycles, cycles) << "seed " << seed << ", " << tiles << " tiles";
      least_work = std::min(least_work, cycles * tiles);
    }
    ASSERT_EQ(at + 1, curve.points.size());
    ASSERT_EQ(curve.work, least_work) << "seed " << seed;
  }
}

/// The least time over all ways to hand out tiles.
double best_split(const std::vector<TileWork>& works, std::size_t from, unsigned tiles) {
  if (from == works.size()) return 0;
  double best = INFINITY;
  for (unsigned own = 1; own <= tiles; ++own) {
    best = std::min(best, std::max(cycles_on(works[from], own, 4, 3),
                                   best_split(works, from + 1, tiles - own)));
  }
  return best;
}

TEST(TileSplit, IsTheBestOfAllSplits) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const auto tiles = static_cast<unsigned>(1 + test::below(random, 9));
    std::vector<TileWork> works(1 + test::below(random, 4));
    std::vector<TileCurve> curves;
    for (TileWork& work : works) {
      work = random_work(random);
      curves.push_back(tile_curve(work, tiles, 4, 3));
    }
    const TileSplit split = split_of(curves, tiles);
    ASSERT_EQ(split.cycles, best_split(works, 0, tiles)) << "seed " << seed;
    if (std::isinf(split.cycles)) continue;
    unsigned used = 0;
    for (std::size_t i = 0; i < works.size(); ++i) {
      used += split.tiles[i];
      ASSERT_LE(cycles_on(works[i], split.tiles[i], 4, 3), split.cycles) << "seed " << seed;
    }
    ASSERT_LE(used, tiles) << "seed " << seed;
  }
}

}  // namespace
}  // namespace flopcast::mapping
