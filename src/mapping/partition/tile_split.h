// Floor 5: how many of a chip's tiles each kernel of a partition gets.
//
// A chip has `tiles` systolic arrays of width W and height H. A GEMM [m, k] x [k, n] on `lanes` x
// `stages` of them takes ceil(m / (lanes W)) ceil(n / (stages H)) k cycles, an element-wise kernel
// ceil(m / (lanes W)) n; heads lie side by side, so m stands for outer m (SCALE-Sim's
// output-stationary form; DFModel IV-C and its logs). All
// kernels of a partition run at once, so its time is that of the slowest; the best split gives the
// least T with sum_i P_i(T) <= tiles, P_i(T) the fewest tiles that finish kernel i by T. P_i falls in
// steps as T grows, so bisection over the steps' times is exact.
// Worked number: m = 100, n = 12, k = 10 on W = 32, H = 6: 1 tile 4 x 2 x 10 = 80 cycles, 2 tiles 40,
// 4 tiles 20, 8 tiles 10; together with its twin on 8 tiles: 20 cycles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flopcast::mapping {

struct TileWork {
  std::int64_t outer = 1, m = 1, n = 1, k = 0;  ///< of one chip and one tile of the sequence
  double repeats = 1;                           ///< tiles of the sequence
};

/// Fewest tiles per time, both strictly monotone: point 0 has the fewest tiles and the longest time.
struct TileCurve {
  struct Point {
    unsigned tiles = 0;
    double cycles = 0;
  };
  std::vector<Point> points;
  double work = 0;  ///< tiles x cycles that no split undercuts
};
TileCurve tile_curve(const TileWork& work, unsigned tiles, unsigned width, unsigned height);

struct TileSplit {
  double cycles = 0;
  std::vector<unsigned> tiles;  ///< per curve
};
/// The least time of all curves at once. Infinite where there are more kernels than tiles.
TileSplit split_tiles(std::span<const TileCurve* const> curves, unsigned tiles);
/// The same without the tiles.
double split_cycles(std::span<const TileCurve* const> curves, unsigned tiles);

}  // namespace flopcast::mapping
