// Floor 7: searches for fleets: asked, answered, cut into shards and put together again.
//
//   Result<ServePlanQuestion> question = make_serve_plan_question("llama-3-70b", "4 x dgx-h100",
//       {{"rate", "20"}, {"input", "1024"}, {"output", "256"}, {"slo", "ttft.p99<1s,tpot.p99<50ms"}}, catalog);
//   Result<ServePlanReport> report = answer_serve_plan(*question, catalog);
//   serve_plan_json(*report); serve_plan_text(*report); ...   (tables and pages: flopcast/report/serve_plan.h)
//
// A report's JSON holds nothing that depends on how it was made: neither threads nor shards, nor what bounds could rule
// out. It is exact: read_serve_plan_reports(serve_plan_json(r)) gives r, and so does merging its shards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/question/serve.h"
#include "flopcast/serving/launch.h"
#include "flopcast/serving/search.h"

namespace flopcast {

/// What a search for a fleet takes besides the settings of kLoad among serve_settings(): what it goes through, what
/// must hold, a price. Lists are of values with commas between them.
std::span<const ServeSetting> serve_plan_settings();

/// A search as somebody asks for it.
struct ServePlanQuestion {
  std::string model, cluster;  ///< as named
  ServeSettings settings;      ///< as given
  FleetSearch search;
  std::string slo;                   ///< its limits as written
  std::string trace_name;            ///< of a trace: its file
  std::vector<std::string> assumed;  ///< in words
};
/// The question that the settings ask. Errors (kUsage): an unknown name, a value that is no such choice, no load, no
/// limits; those of files: theirs.
Result<ServePlanQuestion> make_serve_plan_question(const std::string& model,
                                                   const std::string& cluster,
                                                   const ServeSettings& settings,
                                                   const Catalog& catalog);

/// The same question of several clusters, in order; `price` is then one of them all or a list with one for each.
/// Errors: as above; kUsage: no cluster, one twice, prices for others.
Result<std::vector<ServePlanQuestion>> make_serve_plan_questions(
    const std::string& model, const std::vector<std::string>& clusters,
    const ServeSettings& settings, const Catalog& catalog);

/// A question, and what the search found.
struct ServePlanReport {
  // What was asked, as it was understood.
  std::string model, on, cluster, chip;  ///< names; on: the cluster as it was named
  ServeSettings settings;                ///< as given
  unsigned chips = 0;                    ///< at most
  std::vector<ServiceLimit> limits;      ///< that all hold
  bool front = false, largest = false;   ///< of FleetSearch
  std::string load_unit;                 ///< "users", "requests/s", "times the trace's rate"
  std::size_t best = 10;                 ///< of FleetSearch
  double chip_usd_per_hour = 0;          ///< 0: not known
  std::string version;                   ///< of this program
  std::vector<std::string> assumed;      ///< in words

  unsigned shard = 0, shards = 1;       ///< which part of how many was searched
  FleetAnswer answer;                   ///< what it found
  std::vector<ServingLaunch> launches;  ///< how the best is started

  bool found() const { return !answer.best.empty(); }  ///< whether any fleet meets the limits
};

/// How a search is run; no effect on what it finds.
struct ServePlanRun {
  unsigned threads = 0;                                    ///< 0: all cores
  unsigned shard = 0, shards = 1;                          ///< search one part of `shards`
  std::function<bool(const FleetSearchCounts&)> progress;  ///< as of search_fleets
};
/// A report without an answer: the question as it is understood.
ServePlanReport asked_serve_plan(const ServePlanQuestion& question);
/// Errors: search_fleets'. That no fleet meets the limits is none: see serve_plan_refusal.
Result<ServePlanReport> answer_serve_plan(const ServePlanQuestion& question, const Catalog& catalog,
                                          const ServePlanRun& run = {});

/// Why there is no fleet: fleet_refusal's. @pre not report.found()
Diagnostic serve_plan_refusal(const ServePlanReport& report);

/// Searches for one load, each on a cluster of its own, side by side.
struct ServePlanComparison {
  std::vector<ServePlanReport> reports;  ///< as given
  std::optional<std::size_t>
      fewest;  ///< whose best fleet has the fewest chips; of equals the cheapest, where all have prices, then the first
  std::optional<std::size_t>
      largest;  ///< where it is asked for: whose best fleet holds the largest load
  /// where all have prices: whose best fleet is the cheapest, by rent (usd_per_hour); with `front` or `largest` by
  /// cost_per_million_tokens
  std::optional<std::size_t> cheapest;
  /// where all have prices: of all fleets on the reports' fronts those that none of any cluster surpasses in cost, mean
  /// TTFT and mean TPOT, by cost: places in `reports` and there in answer.pareto
  std::vector<std::pair<std::size_t, std::size_t>> pareto;

  bool found() const { return fewest.has_value(); }  ///< whether any fleet of any meets the limits
  /// The one to read first: that of the largest load, else the cheapest, else that of the fewest chips, else the first.
  const ServePlanReport& winner() const {
    return reports[largest.value_or(cheapest.value_or(fewest.value_or(0)))];
  }
};
/// @pre reports are of one load, not empty
ServePlanComparison compare_serve_plans(std::vector<ServePlanReport> reports);
/// What an hour of the best fleet's chips costs, in USD. @pre report.found()
double usd_per_hour(const ServePlanReport& report);

/// Shards of one search, in any order, as the whole search would have reported. Errors (kBadInput): none; shards of
/// different searches; one that is missing or there twice.
Result<ServePlanReport> merge_serve_plans(std::span<const ServePlanReport> shards);
/// Shards of searches on one cluster or several, in any order, put together and compared. Errors: merge_serve_plans';
/// kBadInput: searches of different loads.
Result<ServePlanComparison> merge_and_compare_serve_plans(std::span<const ServePlanReport> shards);
/// The same text for all that ask the same, whatever the shard.
std::string question_key(const ServePlanReport& report);

/// One indented document.
std::string serve_plan_json(const ServePlanReport& report);
/// The same on one line.
std::string serve_plan_json_line(const ServePlanReport& report);
/// One indented document: the comparison, and in it each report's.
std::string serve_plans_json(const ServePlanComparison& comparison);
/// Reports from what serve_plan_json and serve_plan_json_line write: one document, or one on each line. Errors
/// (kBadInput) name the line.
Result<std::vector<ServePlanReport>> read_serve_plan_reports(std::string_view text,
                                                             const std::string& where);

}  // namespace flopcast
