// Asks every point of a search, or a sweep of them, and prints what was found.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/terminal/io.h"
#include "cli/terminal/options.h"
#include "flopcast/report/plan.h"

namespace flopcast::cli {

/// How reports are shown; used by `plan` and `merge`.
struct PlanOutput {
  FormatOptions format;
  std::filesystem::path html;
};
/// The page and, on stdout, JSON, CSV or text. One search is an indented document, a sweep a line
/// each.
int show_plans(Io& io, const PlanOutput& output, std::span<const PlanReport> reports);

struct PlanPoints {
  std::vector<PlanQuestion> points;
  bool sweep = false;
  bool sharded = false;  ///< lines for `merge`, even of a shard that is the whole
  unsigned shard = 0, shards = 1;
  unsigned threads = 0;
  std::filesystem::path out;  ///< JSON lines that resume; empty: none
  PlanOutput output;
};
/// Exit code 4 where nothing fits at any point: on stderr why, and the nearest plan that does. A
/// shard that finds nothing is no failure: the others may.
int run_points(Io& io, const PlanPoints& command);

}  // namespace flopcast::cli
