// Searches on several clusters, for a terminal.
#include <fmt/format.h>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/report/serve_plan.h"
#include "report/render/rows.h"
#include "report/render/table.h"
#include "report/serve/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string dollars(double usd) { return usd > 0 ? fmt::format("{:.4g}", usd) : "–"; }

std::string compared_text(const ServePlanComparison& all) {
  const bool largest = all.winner().largest;
  Table table({{"chips"},
               {largest ? all.winner().load_unit : "USD/h"},
               {"USD/M tokens"},
               {"tokens/s"},
               {"TTFT p99"},
               {"TPOT p99"}});
  std::vector<std::string> words;
  for (const ServePlanReport& r : all.reports) {
    words.push_back(
        escaped(r.on) + ": " +
        (r.found() ? escaped(fleet_words(r.answer.best.front().choice)) : "none (below)"));
    if (!r.found()) {
      table.add({"–", "–", "–", "–", "–", "–"});
      continue;
    }
    const FleetCandidate& best = r.answer.best.front();
    table.add({std::to_string(best.choice.chips()),
               largest ? fmt::format("{}", best.largest.load) : dollars(usd_per_hour(r)),
               r.chip_usd_per_hour > 0 ? dollars(best.cost_per_million_tokens) : "–",
               fmt::format("{:.4g}", best.output_tokens_per_s), brief_time(best.ttft.p99),
               brief_time(best.tpot.p99)});
  }
  return with_words(table, words);
}

std::string front_text(const ServePlanComparison& all) {
  Table table({{"chips"}, {"USD/M tokens"}, {"TTFT mean"}, {"TPOT mean"}});
  std::vector<std::string> words;
  for (const auto& [report, place] : all.pareto) {
    const ServePlanReport& r = all.reports[report];
    const FleetCandidate& one = r.answer.pareto[place];
    table.add({std::to_string(one.choice.chips()), dollars(one.cost_per_million_tokens),
               brief_time(one.ttft.mean), brief_time(one.tpot.mean)});
    words.push_back(escaped(r.on) + ": " + escaped(fleet_words(one.choice)));
  }
  return "\nThat none of any cluster surpasses in cost, mean TTFT and mean TPOT\n" +
         with_words(table, words);
}

std::string verdict(const ServePlanComparison& all) {
  if (!all.found()) return "\nNone of them meets the limits.\n";
  const ServePlanReport& fewest = all.reports[*all.fewest];
  const std::string chips = counted(fewest.answer.best.front().choice.chips(), "chip");
  if (!all.cheapest && all.largest) {
    return fmt::format("\nLargest load: {}.\n", escaped(all.reports[*all.largest].on));
  }
  if (!all.cheapest) {
    return fmt::format(
        "\nFewest chips: {} ({}). Costs are told where --price has every cluster's.\n",
        escaped(fewest.on), chips);
  }
  const ServePlanReport& cheapest = all.reports[*all.cheapest];
  if (all.largest) {
    return fmt::format("\nLargest load: {}. Cheapest tokens: {} ({} USD a million).\n",
                       escaped(all.reports[*all.largest].on), escaped(cheapest.on),
                       dollars(cheapest.answer.best.front().cost_per_million_tokens));
  }
  return fmt::format("\nCheapest: {} ({} USD an hour). Fewest chips: {} ({}).\n",
                     escaped(cheapest.on), dollars(usd_per_hour(cheapest)), escaped(fewest.on),
                     chips);
}

}  // namespace

std::string serve_plans_text(const ServePlanComparison& all) {
  if (all.reports.size() == 1) return serve_plan_text(all.reports.front());
  std::string text = fmt::format("{} on {}\n\n", escaped(all.winner().model),
                                 counted(all.reports.size(), "cluster"));
  text += compared_text(all) + verdict(all);
  for (const ServePlanReport& r : all.reports) {
    if (!r.found())
      text += fmt::format("{}: {}\n", escaped(r.on), escaped(serve_plan_refusal(r).what));
  }
  if (all.pareto.size() > 1) text += front_text(all);
  return folded_rows(text) + '\n' + serve_plan_text(all.winner());
}

}  // namespace flopcast
