// Searches on several clusters, for a terminal.
#include <fmt/format.h>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/report/serve_plan.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string dollars(double usd) { return usd > 0 ? fmt::format("{:.4g}", usd) : "–"; }

std::vector<std::string> compared_row(const ServePlanReport& r) {
  if (!r.found()) return {escaped(r.on), "–", "none (below)", "–", "–", "–", "–", "–"};
  const FleetCandidate& best = r.answer.best.front();
  return {escaped(r.on),
          std::to_string(best.choice.chips()),
          escaped(fleet_words(best.choice)),
          dollars(usd_per_hour(r)),
          r.chip_usd_per_hour > 0 ? dollars(best.cost_per_million_tokens) : "–",
          fmt::format("{:.4g}", best.output_tokens_per_s),
          short_time(best.ttft.p99),
          short_time(best.tpot.p99)};
}

std::string front_text(const ServePlanComparison& all) {
  Table table({{"cluster", Align::kLeft},
               {"chips"},
               {"fleet", Align::kLeft},
               {"USD/M tokens"},
               {"TTFT mean"},
               {"TPOT mean"}});
  for (const auto& [report, place] : all.pareto) {
    const ServePlanReport& r = all.reports[report];
    const FleetCandidate& one = r.answer.pareto[place];
    table.add({escaped(r.on), std::to_string(one.choice.chips()), escaped(fleet_words(one.choice)),
               dollars(one.cost_per_million_tokens), short_time(one.ttft.mean),
               short_time(one.tpot.mean)});
  }
  return "\nThat none of any cluster surpasses in cost, mean TTFT and mean TPOT\n" + table.text();
}

std::string verdict(const ServePlanComparison& all) {
  if (!all.found()) return "\nNone of them meets the limits.\n";
  const ServePlanReport& fewest = all.reports[*all.fewest];
  const std::string chips = counted(fewest.answer.best.front().choice.chips(), "chip");
  if (!all.cheapest) {
    return fmt::format(
        "\nFewest chips: {} ({}). Costs are told where --price has every cluster's.\n",
        escaped(fewest.on), chips);
  }
  const ServePlanReport& cheapest = all.reports[*all.cheapest];
  return fmt::format("\nCheapest: {} ({} USD an hour). Fewest chips: {} ({}).\n",
                     escaped(cheapest.on), dollars(usd_per_hour(cheapest)), escaped(fewest.on),
                     chips);
}

}  // namespace

std::string serve_plans_text(const ServePlanComparison& all) {
  if (all.reports.size() == 1) return serve_plan_text(all.reports.front());
  std::string text = fmt::format("{} on {}\n\n", escaped(all.winner().model),
                                 counted(all.reports.size(), "cluster"));
  Table table({{"cluster", Align::kLeft},
               {"chips"},
               {"the best fleet", Align::kLeft},
               {"USD/h"},
               {"USD/M tokens"},
               {"tokens/s"},
               {"TTFT p99"},
               {"TPOT p99"}});
  for (const ServePlanReport& r : all.reports) table.add(compared_row(r));
  text += table.text() + verdict(all);
  for (const ServePlanReport& r : all.reports) {
    if (!r.found())
      text += fmt::format("{}: {}\n", escaped(r.on), escaped(serve_plan_refusal(r).what));
  }
  if (all.pareto.size() > 1) text += front_text(all);
  return text + '\n' + serve_plan_text(all.winner());
}

}  // namespace flopcast
