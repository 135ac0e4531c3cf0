// flopcast plan --model-of subramanian: the best plans in paper mode; sweeps and the paper's figures.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/published/case.h"
#include "cli/published/sweep.h"
#include "flopcast/report/published.h"

namespace flopcast::cli {
namespace {

constexpr std::int64_t kMostTried = std::int64_t{1} << 20;  ///< GPUs

Result<PaperCell> base_cell(const PaperPlanCommand& command) {
  const auto given_or_swept = [&](const std::string& given, std::string_view axis) {
    return given.empty() ? paper_first_swept(command.sweeps, axis) : given;
  };
  PaperOptions options = command.paper;
  options.system = given_or_swept(options.system, "system");
  Result<PaperCase> c =
      paper_case(given_or_swept(command.model, "model"), command.global_batch, options);
  if (!c) return c.error();
  PaperCell cell{std::move(*c), command.chips, {}};
  cell.options.best = command.sweeps.empty() ? command.best : 1;
  cell.options.fixed_domain = options.domain;
  if (const auto fixed = apply_paper_musts(command.must, cell); !fixed) return fixed.error();
  return cell;
}

/// Not searched yet.
Result<PaperSearches> asked_cells(const PaperPlanCommand& command) {
  if (!command.figure.empty()) {
    if (!command.model.empty() || command.chips > 0 || !command.must.empty() ||
        !command.sweeps.empty() || !command.paper.system.empty()) {
      return Diagnostic{ErrorCode::kUsage, "--figure " + command.figure,
                        "a figure brings its own model, system, sizes and plans",
                        "leave them out, or leave out --figure"};
    }
    const Result<PaperDefects> defects = parse_paper_defects(command.paper.defects);
    if (!defects) return defects.error();
    auto cells = paper_figure_cells(command.figure, *defects);
    if (!cells) return cells.error();
    return PaperSearches{std::move(*cells), {}, true};
  }
  const Result<PaperCell> base = base_cell(command);
  if (!base) return base.error();
  auto cells = paper_sweep_cells(command.sweeps, *base);
  if (!cells) return cells.error();
  if (cells->front().gpus == 0) {
    return Diagnostic{ErrorCode::kUsage, "--chips", "how many GPUs?", "--chips 16384"};
  }
  return PaperSearches{std::move(*cells), {}, !command.sweeps.empty()};
}

std::string text_of(const PaperSearches& searches, const FormatOptions& format) {
  if (format.json) return paper_searches_json(searches);
  return format.csv ? paper_searches_csv(searches) : paper_searches_text(searches);
}

/// Twice, four times, ... as many GPUs until something fits.
std::string larger_that_fits(const PaperCell& cell) {
  PaperSearchOptions options = cell.options;
  options.best = 1;
  for (std::int64_t gpus = 2 * cell.gpus; gpus <= kMostTried; gpus *= 2) {
    const auto search = paper_search(cell.c, gpus, options);
    if (!search || search->best.empty()) continue;
    return fmt::format("{} GPUs are enough: {}, {} s", gpus, paper_plan_words(search->best[0].plan),
                       paper_time_words(search->best[0].estimate.time));
  }
  return "a GPU with more memory, a smaller model, or fewer degrees fixed";
}

/// Sizes at hand that have a plan, fitting or not.
std::string near_size(const PaperCell& cell) {
  constexpr std::int64_t kFarthest = 512;
  PaperSearchOptions options = cell.options;
  options.best = 0;
  for (std::int64_t off = 1; off <= kFarthest; ++off) {
    for (const std::int64_t gpus : {cell.gpus + off, cell.gpus - off}) {
      const auto search = paper_search(cell.c, gpus, options);
      if (search && search->candidates > 0) return fmt::format("{} GPUs have a plan", gpus);
    }
  }
  return "fix fewer degrees";
}

Diagnostic nothing_fits(const PaperCell& cell, const PaperSearch& search) {
  const std::string where = paper_case_words(cell.c, cell.gpus);
  if (!search.leanest) {
    return {ErrorCode::kUsage, where,
            "no degrees of parallelism divide heads, depth and batch and fill the NVLink domains",
            near_size(cell)};
  }
  return {ErrorCode::kTooLarge, where,
          fmt::format("no plan fits; the leanest needs {} on each GPU: {}",
                      paper_memory_words(cell.c, search.leanest->estimate),
                      paper_plan_words(search.leanest->plan)),
          larger_that_fits(cell)};
}

}  // namespace

int run_paper_plan(Io& io, const PaperPlanCommand& command) {
  Result<PaperSearches> searches = asked_cells(command);
  if (!searches) return fail(io, searches.error());
  auto results = paper_study(searches->cells, command.threads);
  if (!results) return fail(io, results.error());
  searches->results = std::move(*results);
  if (const int code = print(io, text_of(*searches, command.format), command.format); code != kDone)
    return code;
  const PaperSearch& first = searches->results.front();
  const bool nothing = !searches->many && first.best.empty();
  return nothing ? fail(io, nothing_fits(searches->cells[0], first)) : kDone;
}

}  // namespace flopcast::cli
