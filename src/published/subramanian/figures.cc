// The figures of the paper as data: which cells they are made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

using enum PaperStrategy;
using Cells = std::vector<PaperCell>;

constexpr std::int64_t kGlobalBatch = 4096;
constexpr std::int64_t kLargest = 16384;

PaperCell cell(std::string_view model, std::string_view system, PaperStrategy strategy,
               const PaperDefects& defects, std::int64_t gpus = kLargest) {
  PaperCell one{
      {*paper_model(model), *paper_system(system), strategy, kGlobalBatch, defects}, gpus, {}};
  one.options.best = 1;
  return one;
}

/// Sweeps of one plan's degrees show what does not fit, too.
PaperCell bar(PaperCell base, const PaperPlan::Groups& size, std::int64_t microbatch,
              std::int64_t panels = 0) {
  base.options.beyond_memory = true;
  base.options.fixed = size;
  base.options.microbatch = microbatch;
  base.options.panels = panels;
  return base;
}

template <typename Body>
void for_doublings(std::int64_t from, std::int64_t to, Body body) {
  for (std::int64_t n = from; n <= to; n *= 2) body(n);
}

Cells tensor_sweep(const PaperDefects& d) {
  Cells cells;
  for_doublings(1, 32, [&](std::int64_t tp) {
    cells.push_back(bar(cell("gpt3_1T", "B200-NVS8", k1d, d), {tp, 1, 64, 256 / tp}, 1));
  });
  return cells;
}

Cells pipeline_sweep(std::string_view system, const PaperDefects& d) {
  Cells cells;
  for_doublings(1, 128, [&](std::int64_t pp) {
    cells.push_back(bar(cell("gpt3_1T", system, k1d, d), {8, 1, pp, 2048 / pp}, 1));
  });
  return cells;
}

/// Every tp1 x tp2 grid of `gpus` GPUs that the search knows, widest first.
void grids(Cells& cells, const PaperCell& base, std::int64_t gpus, std::int64_t pp,
           std::int64_t microbatch, std::int64_t panels = 0) {
  constexpr std::int64_t kLeastRows = 128;
  for_doublings(1, std::min(gpus, base.c.model.sequence / kLeastRows), [&](std::int64_t tp2) {
    cells.push_back(bar(base, {gpus / tp2, tp2, pp, base.gpus / (gpus * pp)}, microbatch, panels));
  });
}

Cells summa_sweep(std::string_view system, const PaperDefects& d) {
  constexpr std::int64_t kPanels = 8;
  Cells cells;
  const PaperCell base = cell("gpt3_1T", system, kSumma, d);
  grids(cells, base, 32, 1, 8, kPanels);
  grids(cells, base, 8, 128, 1, kPanels);
  return cells;
}

Cells context_sweep(std::string_view model, const PaperDefects& d) {
  Cells cells;
  const PaperCell base = cell(model, "B200-NVS8", k2d, d);
  grids(cells, base, 16, 2, 1);
  grids(cells, base, 16, 16, 1);
  return cells;
}

/// Best plans of all sizes.
void scaling(Cells& cells, const PaperCell& base) {
  for_doublings(4, kLargest, [&](std::int64_t gpus) {
    cells.push_back(base);
    cells.back().gpus = gpus;
  });
}

Cells optima(std::string_view model, std::string_view system, PaperStrategy strategy,
             const PaperDefects& d) {
  Cells cells;
  scaling(cells, cell(model, system, strategy, d));
  return cells;
}

Cells systems(std::string_view model, PaperStrategy strategy, const PaperDefects& d) {
  Cells cells;
  for (const std::string_view chip : {"A100", "H200", "B200"}) {
    for (const int domain : {4, 8, 64}) {
      scaling(cells, cell(model, fmt::format("{}-NVS{}", chip, domain), strategy, d));
    }
  }
  return cells;
}

double between(double from, double to, int step, int steps) {
  return from + (to - from) * step / steps;
}

/// HBM capacity x bandwidth around a B200.
Cells memory_sweep(std::string_view model, PaperStrategy strategy, const PaperDefects& d) {
  constexpr int kCapacities = 32;
  constexpr int kBandwidths = 28;
  Cells cells;
  PaperCell base = cell(model, "B200-NVS8", strategy, d);
  for (int i = 0; i < kCapacities; ++i) {
    for (int j = 0; j < kBandwidths; ++j) {
      base.c.system.hbm_capacity = {between(80e9, 1000e9, i, kCapacities - 1)};
      base.c.system.hbm_bandwidth = {between(500e9, 16000e9, j, kBandwidths - 1)};
      scaling(cells, base);
    }
  }
  return cells;
}

/// Points on the way from chip to chip.
std::vector<PaperSystem> generations(int steps) {
  constexpr std::array<std::string_view, 4> kChips = {"A100", "H200", "B200", "B200-next"};
  std::vector<PaperSystem> points = {*paper_system(kChips[0])};
  for (std::size_t chip = 1; chip < kChips.size(); ++chip) {
    const PaperSystem a = *paper_system(kChips[chip - 1]);
    const PaperSystem b = *paper_system(kChips[chip]);
    for (int step = 1; step <= steps; ++step) {
      PaperSystem point = b;
      const auto mix = [&](double from, double to) { return between(from, to, step, steps); };
      point.hbm_capacity = {mix(a.hbm_capacity.value, b.hbm_capacity.value)};
      point.hbm_bandwidth = {mix(a.hbm_bandwidth.value, b.hbm_bandwidth.value)};
      point.matrix = {mix(a.matrix.value, b.matrix.value)};
      point.vector = {mix(a.vector.value, b.vector.value)};
      points.push_back(point);
    }
  }
  return points;
}

/// Compute x memory of the generations, on the network of a B200.
Cells generation_sweep(std::string_view model, PaperStrategy strategy, const PaperDefects& d) {
  constexpr int kMemorySteps = 3;
  constexpr int kComputeSteps = 7;
  Cells cells;
  PaperCell base = cell(model, "B200-NVS8", strategy, d);
  for (const PaperSystem& memory : generations(kMemorySteps)) {
    for (const PaperSystem& compute : generations(kComputeSteps)) {
      base.c.system.hbm_capacity = memory.hbm_capacity;
      base.c.system.hbm_bandwidth = memory.hbm_bandwidth;
      base.c.system.matrix = compute.matrix;
      base.c.system.vector = compute.vector;
      scaling(cells, base);
    }
  }
  return cells;
}

struct Recipe {
  std::string_view figure;
  Cells (*cells)(const PaperDefects&);
};
using D = const PaperDefects&;
constexpr std::array<Recipe, 16> kRecipes = {{
    {"1",  // GPT3-1T, 1-D, 16384 B200 in domains of 8, pp 64: tp against dp
     [](D d) { return tensor_sweep(d); }},
    {"2a",  // GPT3-1T, 1-D, 16384 B200 in domains of 8, tp 8: pp against dp
     [](D d) { return pipeline_sweep("B200-NVS8", d); }},
    {"2b",  // the same in domains of 64
     [](D d) { return pipeline_sweep("B200-NVS64", d); }},
    {"3a",  // GPT3-1T, SUMMA in 8 panels, 16384 B200 in domains of 8: shapes of the grid
     [](D d) { return summa_sweep("B200-NVS8", d); }},
    {"3b",  // the same in domains of 64
     [](D d) { return summa_sweep("B200-NVS64", d); }},
    {"4a",  // GPT3-1T, 1-D, B200 in domains of 8: best plan of each size
     [](D d) { return optima("gpt3_1T", "B200-NVS8", k1d, d); }},
    {"4b",  // ViT, 2-D, B200 in domains of 8: best plan of each size
     [](D d) { return optima("vit_era5", "B200-NVS8", k2d, d); }},
    {"5a",  // GPT3-1T, 1-D: days of training on nine systems
     [](D d) { return systems("gpt3_1T", k1d, d); }},
    {"5b",  // ViT, 2-D: days of training on nine systems
     [](D d) { return systems("vit_era5", k2d, d); }},
    {"A2a",  // GPT3-1T, 2-D, 16384 B200 in domains of 8: shapes of the grid
     [](D d) { return context_sweep("gpt3_1T", d); }},
    {"A2b",  // ViT, 2-D, 16384 B200 in domains of 8: shapes of the grid
     [](D d) { return context_sweep("vit_era5", d); }},
    {"A3a",  // GPT3-1T, SUMMA, B200 in domains of 8: best plan of each size
     [](D d) { return optima("gpt3_1T", "B200-NVS8", kSumma, d); }},
    {"A3b",  // the same in domains of 64
     [](D d) { return optima("gpt3_1T", "B200-NVS64", kSumma, d); }},
    {"A4",  // GPT3-1T and ViT, SUMMA: days of training on nine systems
     [](D d) {
       Cells cells = systems("gpt3_1T", kSumma, d);
       Cells vit = systems("vit_era5", kSumma, d);
       cells.insert(cells.end(), vit.begin(), vit.end());
       return cells;
     }},
    {"A5",  // GPT3-1T 1-D and ViT 2-D: capacity x bandwidth of HBM, 896 variants of a B200
     [](D d) {
       Cells cells = memory_sweep("gpt3_1T", k1d, d);
       Cells vit = memory_sweep("vit_era5", k2d, d);
       cells.insert(cells.end(), vit.begin(), vit.end());
       return cells;
     }},
    {"A6",  // GPT3-1T 1-D and ViT 2-D: compute x memory from A100 to B200-next, 220 variants
     [](D d) {
       Cells cells = generation_sweep("gpt3_1T", k1d, d);
       Cells vit = generation_sweep("vit_era5", k2d, d);
       cells.insert(cells.end(), vit.begin(), vit.end());
       return cells;
     }},
}};

}  // namespace

Result<Cells> paper_figure_cells(std::string_view figure, const PaperDefects& defects) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.figure == figure) return recipe.cells(defects);
  }
  std::vector<std::string_view> names;
  names.reserve(kRecipes.size());
  for (const Recipe& known : kRecipes) names.push_back(known.figure);
  return Diagnostic{ErrorCode::kUsage, std::string(figure), "no such figure of the paper",
                    fmt::format("figures: {}", fmt::join(names, ", "))};
}

}  // namespace flopcast
