// A search for a fleet, for a terminal: the winner, its rivals, and how it is started.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/report/serve_plan.h"
#include "report/render/rows.h"
#include "report/render/table.h"
#include "report/serve/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string limit_list(const ServePlanReport& r) {
  std::string text;
  for (const ServiceLimit& limit : r.limits) text += (text.empty() ? "" : ", ") + name(limit);
  return text;
}

std::string plan_title(const ServePlanReport& r) {
  std::string text = fmt::format("{} on {} ({} {} x {})", escaped(r.model), escaped(r.cluster),
                                 r.largest ? "all" : "up to", grouped(r.chips), escaped(r.chip));
  if (!r.limits.empty()) text += ": " + limit_list(r);
  if (r.shards > 1) text += fmt::format("; part {} of {} only", r.shard, r.shards);
  return text + '\n';
}

std::string cost_words(const ServePlanReport& r, const FleetCandidate& one) {
  if (r.chip_usd_per_hour > 0) {
    return fmt::format("{:.3g} USD a million tokens of answers", one.cost_per_million_tokens);
  }
  return fmt::format("{:.3g} chip-hours a million tokens of answers", one.cost_per_million_tokens);
}

void add_percentiles(Table& table, std::string_view title, const ServingPercentiles& p) {
  if (p.count == 0) return;
  table.add({std::string(title), short_time(p.mean), short_time(p.p50), short_time(p.p90),
             short_time(p.p95), short_time(p.p99), short_time(p.max)});
}

/// How surely the limits hold, by the share of them that is used.
std::string surety_words(const ServePlanReport& r, const FleetCandidate& best) {
  if (r.limits.empty() || best.slow_ratio == 0) return {};
  return fmt::format(
      "  {} of the limits by the forecast, {} at the slow end of the 10-90 % band: {}\n",
      percent(best.ratio), percent(best.slow_ratio),
      best.slow_ratio < 1 ? "they hold surely" : "they hold there no more");
}

std::string margin_words(const ServePlanReport& r, const LoadMargin& margin) {
  std::string text = margin.slow > 0
                         ? fmt::format("  {} {} hold at the slow end of the 10-90 % band",
                                       margin.slow, r.load_unit)
                         : std::string("  none holds at the slow end of the 10-90 % band");
  text += fmt::format(", {} at the fast end\n", margin.fast);
  if (margin.next > 0)
    text += fmt::format("  the next that was tried, {}, does not hold\n", margin.next);
  return text;
}

std::string winner_text(const ServePlanReport& r) {
  const FleetCandidate& best = r.answer.best.front();
  const std::string chips = counted(best.choice.chips(), "chip");
  std::string text = r.largest
                         ? fmt::format("\n{} {}: {}, {}\n", best.largest.load, r.load_unit, chips,
                                       escaped(fleet_words(best.choice))) +
                               margin_words(r, best.largest)
                         : fmt::format("\n{}: {}\n", chips, escaped(fleet_words(best.choice))) +
                               surety_words(r, best);
  text +=
      fmt::format("  {:.4g} tokens/s of answers, {:.4g} a chip; {:.4g} requests/s\n",
                  best.output_tokens_per_s, best.output_tokens_per_s_per_chip, best.requests_per_s);
  text += fmt::format("  {}\n", cost_words(r, best));
  Table table({{"", Align::kLeft}, {"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"max"}});
  add_percentiles(table, "TTFT", best.ttft);
  add_percentiles(table, "TPOT", best.tpot);
  add_percentiles(table, "gap", best.inter_token);
  add_percentiles(table, "answer", best.latency);
  return text + table.text();
}

/// Others of the same numbers: those that differ in the budget of an iteration alone by that.
std::string twins_words(const FleetCandidate& one) {
  std::string budgets, others;
  for (const FleetTwin& twin : one.same) {
    FleetChoice alike = twin.choice;
    alike.batch_tokens = one.choice.batch_tokens;
    if (alike == one.choice) {
      budgets += (budgets.empty() ? "" : "; ") +
                 grouped(static_cast<std::uint64_t>(twin.choice.batch_tokens));
    } else {
      others += "; " + escaped(fleet_words(twin.choice));
    }
  }
  if (budgets.empty() && others.empty()) return {};
  return " (the same with " + (budgets.empty() ? others.substr(2) : budgets + others) + ")";
}

/// A row of numbers for each fleet, and below it what it is.
std::string fleets_table(const ServePlanReport& r, const std::vector<FleetCandidate>& list) {
  std::vector<Table::Column> columns = {{"chips"}};
  if (r.largest) columns.insert(columns.end(), {{r.load_unit}, {"slow end"}, {"fast end"}});
  if (!r.largest && !r.limits.empty()) {
    columns.insert(columns.end(), {{"of limits"}, {"slow end"}});
  }
  columns.insert(
      columns.end(),
      {{r.chip_usd_per_hour > 0 ? "USD/M" : "chip-h/M"}, {"tokens/s"}, {"TTFT p99"}, {"TPOT p99"}});
  Table table(columns);
  std::vector<std::string> words;
  for (const FleetCandidate& one : list) {
    words.push_back(escaped(fleet_words(one.choice)) + twins_words(one));
    std::vector<std::string> cells = {std::to_string(one.choice.chips())};
    const LoadMargin& m = one.largest;
    if (r.largest) {
      for (const double load : {m.load, m.slow, m.fast}) cells.push_back(fmt::format("{}", load));
    } else if (!r.limits.empty()) {
      cells.push_back(percent(one.ratio));
      cells.push_back(one.slow_ratio > 0 ? percent(one.slow_ratio) : "–");
    }
    for (std::string& cell :
         std::vector<std::string>{fmt::format("{:.3g}", one.cost_per_million_tokens),
                                  fmt::format("{:.4g}", one.output_tokens_per_s),
                                  brief_time(one.ttft.p99), brief_time(one.tpot.p99)}) {
      cells.push_back(std::move(cell));
    }
    table.add(std::move(cells));
  }
  return with_words(table, words);
}

std::string launches_text(const ServePlanReport& r) {
  std::string text;
  for (const ServingLaunch& launch : r.launches) {
    const std::string role =
        launch.role == ServingRole::kWhole ? "" : fmt::format("{} ", name(launch.role));
    text += fmt::format("\nHow {} {} started ($MODEL: {})\n",
                        counted(launch.replicas, role + "replica"),
                        launch.replicas == 1 ? "is" : "are", escaped(launch.checkpoint));
    text += folded_rows(fmt::format("  {}\n", escaped(launch.command)), " \\");
    if (!launch.file.empty()) text += fmt::format("  {}:\n", launch.file_name);
    for (std::size_t at = 0; at < launch.file.size();) {
      const std::size_t end = std::min(launch.file.find('\n', at), launch.file.size());
      text += fmt::format("    {}\n", launch.file.substr(at, end - at));
      at = end + 1;
    }
    for (const std::string& lack : launch.lacks) text += fmt::format("  not in it: {}\n", lack);
  }
  return text;
}

std::string space_text(const ServePlanReport& r) {
  const FleetSearchCounts& counts = r.answer.counts;
  const std::uint64_t rest = counts.configurations - counts.impossible - counts.out_of_memory;
  std::string text =
      fmt::format("\n{}: {} impossible, {} out of memory, {} run or ruled out by bounds\n",
                  counted(counts.configurations, "configuration"), grouped(counts.impossible),
                  grouped(counts.out_of_memory), grouped(rest));
  for (const std::string& words : r.assumed) text += fmt::format("assumed: {}\n", escaped(words));
  return text;
}

}  // namespace

std::string serve_plan_text(const ServePlanReport& r) {
  std::string text = plan_title(r);
  const auto& best = r.answer.best;
  const auto& pareto = r.answer.pareto;
  if (r.found()) {
    text += winner_text(r);
    if (!r.front && best.size() > 1) {
      text += r.largest ? "\nThe fleets of all chips that hold most" : "\nOn as few chips";
      text += '\n' + fleets_table(r, best);
    }
    if (pareto.size() > 1) {
      text += fmt::format("\nThat none {}surpasses in cost, mean TTFT and mean TPOT\n",
                          r.front ? "" : "of them ");
      text += fleets_table(r, pareto);
    }
    text += launches_text(r);
  } else if (r.answer.nearest) {
    text += r.largest ? "\nNone holds the limits, whatever the load. The nearest, at the smallest\n"
                      : "\nNone meets the limits. The nearest\n";
    text += fleets_table(r, {*r.answer.nearest});
  }
  return folded_rows(text + space_text(r));
}

std::string serve_plan_effort(const FleetSearchCounts& counts) {
  return fmt::format(
      "{}: {} impossible, {} out of memory, {} ruled out by bounds, {} simulated ({})",
      counted(counts.configurations, "configuration"), grouped(counts.impossible),
      grouped(counts.out_of_memory), grouped(counts.bounded), grouped(counts.simulated),
      counted(counts.runs, "fleet"));
}

std::string serve_plan_progress(const FleetSearchCounts& counts) {
  return fmt::format("searching: {} run, {}", counted(counts.runs, "fleet"),
                     counted(counts.configurations, "configuration"));
}

std::string serve_plans_csv(std::span<const ServePlanReport> reports) {
  Table table({{"model"},
               {"cluster"},
               {"chips"},
               {"engine"},
               {"precision"},
               {"replicas"},
               {"tp"},
               {"dp"},
               {"ep"},
               {"pp"},
               {"decode_replicas"},
               {"decode_tp"},
               {"decode_dp"},
               {"decode_ep"},
               {"decode_pp"},
               {"batch_tokens"},
               {"max_requests"},
               {"output_tokens_per_s"},
               {"requests_per_s"},
               {"cost_per_million_tokens"},
               {"limit_ratio"},
               {"slow_limit_ratio"},
               {"largest_load"},
               {"slow_largest_load"},
               {"fast_largest_load"},
               {"ttft_mean_s"},
               {"ttft_p50_s"},
               {"ttft_p99_s"},
               {"tpot_mean_s"},
               {"tpot_p50_s"},
               {"tpot_p99_s"},
               {"latency_mean_s"},
               {"latency_p99_s"}});
  for (const ServePlanReport& r : reports) {
    for (const FleetCandidate& one : r.front ? r.answer.pareto : r.answer.best) {
      std::vector<std::string> row = {r.model, r.cluster, std::to_string(one.choice.chips()),
                                      std::string(name(one.choice.engine)), one.choice.precision};
      const auto add_pool = [&row](const PoolChoice* pool) {
        const auto text = [&](unsigned value) {
          return pool == nullptr ? std::string() : std::to_string(value);
        };
        const PoolChoice none, &p = pool == nullptr ? none : *pool;
        for (const unsigned value :
             {p.replicas, p.layout.tp, p.layout.dp, p.layout.ep, p.layout.pp}) {
          row.push_back(text(value));
        }
      };
      add_pool(&one.choice.pool);
      add_pool(one.choice.decode ? &*one.choice.decode : nullptr);
      row.push_back(std::to_string(one.choice.batch_tokens));
      row.push_back(std::to_string(one.choice.max_requests));
      for (const double value :
           {one.output_tokens_per_s, one.requests_per_s, one.cost_per_million_tokens, one.ratio,
            one.slow_ratio, one.largest.load, one.largest.slow, one.largest.fast,
            one.ttft.mean.value, one.ttft.p50.value, one.ttft.p99.value, one.tpot.mean.value,
            one.tpot.p50.value, one.tpot.p99.value, one.latency.mean.value,
            one.latency.p99.value}) {
        row.push_back(exact_number(value));
      }
      table.add(std::move(row));
    }
  }
  return table.csv();
}

}  // namespace flopcast
