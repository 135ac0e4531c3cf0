// A search for a fleet, for a terminal: the winner, its rivals, and how it is started.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/report/serve_plan.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string limit_list(const ServePlanReport& r) {
  std::string text;
  for (const ServiceLimit& limit : r.limits) text += (text.empty() ? "" : ", ") + name(limit);
  return text;
}

std::string plan_title(const ServePlanReport& r) {
  std::string text = fmt::format("{} on {} (up to {} x {})", escaped(r.model), escaped(r.cluster),
                                 grouped(r.chips), escaped(r.chip));
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

std::string winner_text(const ServePlanReport& r) {
  const FleetCandidate& best = r.answer.best.front();
  std::string text = fmt::format("\n{}: {}\n", counted(best.choice.chips(), "chip"),
                                 escaped(fleet_words(best.choice)));
  text += fmt::format("  {:.4g} tokens/s of answers, {:.4g} a chip; {:.4g} requests/s; {}\n",
                      best.output_tokens_per_s, best.output_tokens_per_s_per_chip,
                      best.requests_per_s, cost_words(r, best));
  Table table({{"", Align::kLeft}, {"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"max"}});
  add_percentiles(table, "TTFT", best.ttft);
  add_percentiles(table, "TPOT", best.tpot);
  add_percentiles(table, "between tokens", best.inter_token);
  add_percentiles(table, "latency", best.latency);
  return text + table.text();
}

std::string fleets_table(const ServePlanReport& r, const std::vector<FleetCandidate>& list) {
  const bool priced = r.chip_usd_per_hour > 0;
  Table table({{"chips"},
               {"fleet", Align::kLeft},
               {priced ? "USD/M tokens" : "chip-h/M tokens"},
               {"tokens/s"},
               {"TTFT mean"},
               {"p99"},
               {"TPOT mean"},
               {"p99"}});
  for (const FleetCandidate& one : list) {
    table.add({std::to_string(one.choice.chips()), escaped(fleet_words(one.choice)),
               fmt::format("{:.3g}", one.cost_per_million_tokens),
               fmt::format("{:.4g}", one.output_tokens_per_s), short_time(one.ttft.mean),
               short_time(one.ttft.p99), short_time(one.tpot.mean), short_time(one.tpot.p99)});
  }
  return table.text();
}

std::string launches_text(const ServePlanReport& r) {
  std::string text;
  for (const ServingLaunch& launch : r.launches) {
    text += fmt::format("\nHow {} of {} {} started ($MODEL: {})\n",
                        counted(launch.replicas, "replica"), name(launch.role),
                        launch.replicas == 1 ? "is" : "are", escaped(launch.checkpoint));
    text += fmt::format("  {}\n", escaped(launch.command));
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
  if (r.found()) {
    text += winner_text(r);
    if (!r.front && r.answer.best.size() > 1) {
      text += "\nOn as few chips\n" + fleets_table(r, r.answer.best);
    }
    if (r.answer.pareto.size() > 1) {
      text += fmt::format("\nThat none {}surpasses in cost, mean TTFT and mean TPOT\n",
                          r.front ? "" : "of them ");
      text += fleets_table(r, r.answer.pareto);
    }
    text += launches_text(r);
  } else if (r.answer.nearest) {
    text += "\nNone meets the limits. The nearest\n";
    text += fleets_table(r, {*r.answer.nearest});
  }
  return text + space_text(r);
}

std::string serve_plan_effort(const FleetSearchCounts& counts) {
  return fmt::format(
      "{}: {} impossible, {} out of memory, {} ruled out by bounds, {} simulated ({})",
      counted(counts.configurations, "configuration"), grouped(counts.impossible),
      grouped(counts.out_of_memory), grouped(counts.bounded), grouped(counts.simulated),
      counted(counts.runs, "fleet"));
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
