// Floor 7: sweeps over systems and mappings, asked in words, and the rows that are kept of them.
//
// A row is all that is kept of a point: it is what a JSON line holds, so that a sweep that was
// stopped goes on from its lines, and what was read back is shown as what was searched.
// explore_json_line and read_explore_rows are inverse to each other, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/mapping/explore.h"
#include "flopcast/question/mapping.h"

namespace flopcast {

/// One point of a sweep, as reports show and keep it.
struct ExploreRow {
  std::string asked;                ///< the question in words, the same for all points of a sweep
  std::uint64_t index = 0, of = 0;  ///< its number from 0; how many points there are
  std::vector<std::pair<std::string, std::string>> sweep;  ///< what this point changes
  bool fits = false;                                       ///< whether any mapping does
  std::string problem;  ///< where it does not: what is short, by how much
  std::string why;      ///< the bottleneck in a sentence
  // Of the fastest mapping, where one fits:
  double step_s = 0, bound_s = 0;  ///< of the fastest mapping; the bound below all of them
  bool exact = true;               ///< whether it is proven to be the fastest
  /// model FLOP over peak x chips x step; samples of all chips
  double utilisation = 0, samples_per_second = 0;
  double flop_per_s = 0;              ///< model FLOP of a step over its time, all chips
  double price_usd = 0, power_w = 0;  ///< 0: not known
  std::string shape;                  ///< "TP 8 x PP 4 x DP 1"
  double compute_share = 0, memory_share = 0, network_share = 0;  ///< of a layer, by what limits it
  /// What twice of a resource would bring, greatest first: its speedup; infinite: it fits then.
  std::vector<std::pair<std::string, double>> gains;

  /// how far above the bound the step may be, a share
  double gap() const { return step_s > 0 ? (step_s - bound_s) / step_s : 0; }
  /// 0: price not known
  double flop_per_s_per_usd() const { return price_usd > 0 ? flop_per_s / price_usd : 0; }
  /// 0: power not known
  double flop_per_s_per_w() const { return power_w > 0 ? flop_per_s / power_w : 0; }
  bool operator==(const ExploreRow&) const = default;
};

/// A sweep over a question, its pins and its model read. Errors: mapping_model's and
/// parse_mapping_pin's.
Result<ExploreRequest> explore_of_question(const MappingQuestion& question,
                                           const std::vector<std::string>& sweeps, bool explain);
/// All of it in words: the same words, the same rows.
std::string explore_words(const MappingQuestion& question, const std::vector<std::string>& sweeps,
                          bool explain);
/// @param asked explore_words of the sweep; @param of explore_points of the axes
ExploreRow explore_row(std::string asked, std::span<const ExploreAxis> axes, std::size_t of,
                       const ExplorePoint& point);

/// Of each row, whether no other is at least as good in time a sample, price and power and better in
/// one; of rows that are equal in all three, the first. Rows that do not fit are in no front.
std::vector<bool> explore_front(std::span<const ExploreRow> rows);

/// The best point of a sweep in one of its numbers.
struct ExploreBest {
  std::string_view
      measure;  ///< "step_s", "utilisation", "flop_per_s_per_usd" or "flop_per_s_per_w"
  std::size_t row =
      0;  ///< of those that are equal the cheapest, then the leanest in power, then the first
  std::size_t equals = 0;  ///< how many others are equal, but for rounding
};
/// In that order; without numbers that no row knows.
std::vector<ExploreBest> explore_best(std::span<const ExploreRow> rows);

/// One line, with its end.
std::string explore_json_line(const ExploreRow& row);
/// Rows from such lines. Errors (kBadInput) name the line.
Result<std::vector<ExploreRow>> read_explore_rows(std::string_view text, const std::string& where);

/// The first rows of the very sweep that `asked` and `points` describe, from what an earlier run
/// wrote. Errors: read_explore_rows'; kUsage: a row of another sweep or out of order, numbered.
Result<std::vector<ExploreRow>> read_explore_start(std::string_view text, const std::string& where,
                                                   std::string_view asked, std::size_t points);

/// Calls `visit` with the JSON name and the field of what every row has, in order.
template <typename Row, typename Visit>
void visit_explore_head(Row& row, Visit&& visit) {
  visit("asked", row.asked);
  visit("index", row.index);
  visit("of", row.of);
  visit("fits", row.fits);
  visit("why", row.why);
}

/// The same of what rows have that fit.
template <typename Row, typename Visit>
void visit_explore_answer(Row& row, Visit&& visit) {
  visit("step_s", row.step_s);
  visit("bound_s", row.bound_s);
  visit("exact", row.exact);
  visit("utilisation", row.utilisation);
  visit("samples_per_second", row.samples_per_second);
  visit("flop_per_s", row.flop_per_s);
  visit("price_usd", row.price_usd);
  visit("power_w", row.power_w);
  visit("shape", row.shape);
  visit("compute_share", row.compute_share);
  visit("memory_share", row.memory_share);
  visit("network_share", row.network_share);
}

/// What follows from the others: written, never read.
template <typename Visit>
void write_explore_derived(const ExploreRow& row, Visit&& visit) {
  visit("gap", row.gap());
  visit("flop_per_s_per_usd", row.flop_per_s_per_usd());
  visit("flop_per_s_per_w", row.flop_per_s_per_w());
}

}  // namespace flopcast
