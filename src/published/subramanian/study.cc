// Many searches at once, and the 702 of the paper.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "published/subramanian/iteration.h"

namespace flopcast {
namespace {

/// What a serial run of the published script would not have searched: for all but the first system,
/// sizes below the smallest at which a system before it found a plan.
void drop_sizes(std::span<const PaperCell> cells, std::vector<PaperSearch>& results) {
  struct Series {
    std::string model;
    PaperStrategy strategy = PaperStrategy::k1d;
    std::string system;            ///< being gone through
    std::int64_t from = 0;         ///< sizes below are dropped
    std::int64_t first_found = 0;  ///< on `system`; 0: none yet
  };
  std::vector<Series> all;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const PaperCase& c = cells[i].c;
    if (!c.defects.serial_study_drops_sizes) continue;
    auto series = std::ranges::find_if(
        all, [&](const Series& s) { return s.model == c.model.name && s.strategy == c.strategy; });
    if (series == all.end()) {
      series = all.insert(series, {c.model.name, c.strategy, c.system.name, 0, 0});
    }
    if (series->system != c.system.name) {
      series->system = c.system.name;
      series->from = std::max(series->from, series->first_found);
      series->first_found = 0;
    }
    if (cells[i].gpus < series->from) {
      results[i] = {};
    } else if (results[i].feasible > 0 && series->first_found == 0) {
      series->first_found = cells[i].gpus;
    }
  }
}

}  // namespace

Result<std::vector<PaperSearch>> paper_study(std::span<const PaperCell> cells, unsigned threads) {
  for (const PaperCell& cell : cells) {
    if (auto refused = published::refuse(cell.c)) return *std::move(refused);
    if (auto refused = published::refuse(cell.gpus)) return *std::move(refused);
  }
  std::vector<PaperSearch> results(cells.size());
  parallel_for(cells.size(), threads, [&](std::size_t i) {
    results[i] = std::move(*paper_search(cells[i].c, cells[i].gpus, cells[i].options));
  });
  drop_sizes(cells, results);
  return results;
}

std::vector<PaperCell> paper_study_cells(const PaperDefects& defects) {
  constexpr std::int64_t kStudyBatch = 4096;
  constexpr std::int64_t kMostGpus = 16384;
  std::vector<PaperCell> cells;
  for (const auto strategy : {PaperStrategy::k1d, PaperStrategy::k2d, PaperStrategy::kSumma}) {
    for (const std::string_view model : {"gpt3_1T", "vit_era5"}) {
      for (const std::string_view chip : {"A100", "H200", "B200"}) {
        for (const std::int64_t domain : {4, 8, 64}) {
          for (std::int64_t gpus = 4; gpus <= kMostGpus; gpus *= 2) {
            PaperCase c{*paper_model(model), *paper_system(chip), strategy, kStudyBatch, defects};
            c.system.domain = domain;
            c.system.name += "-NVS" + std::to_string(domain);
            cells.push_back({std::move(c), gpus});
          }
        }
      }
    }
  }
  return cells;
}

}  // namespace flopcast
