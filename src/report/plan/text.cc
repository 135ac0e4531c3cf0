// A search for a terminal: the winner, its rivals, time against memory, and why it wins.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/report/plan.h"
#include "report/estimate/report.h"
#include "report/plan/launch.h"
#include "report/render/scatter.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

// Less than this share of the step is no reason.
constexpr double kWorthTelling = 5e-4;

std::string gigabytes(Bytes bytes) { return fmt::format("{:.1f}", bytes.value * 1e-9); }

/// "12.3 k", to three digits: nobody knows more of a forecast.
std::string short_count(double value) {
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) value /= 1000, ++prefix;
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

std::string title(const PlanReport& r) {
  std::string text = fmt::format("{} on {} ({} x {}): {} of {} tokens a step", escaped(r.model),
                                 escaped(r.cluster), grouped(r.chips), escaped(r.chip),
                                 counted(static_cast<std::uint64_t>(r.global_batch), "sequence"),
                                 grouped(static_cast<std::uint64_t>(r.sequence)));
  if (!r.constraints.empty()) {
    text += fmt::format("; {}", fmt::join(constraint_texts(r.constraints), ", "));
  }
  if (r.memory_share < 1) text += fmt::format("; {:.3g} % of the memory", r.memory_share * 100);
  if (r.shards > 1) text += fmt::format("; part {} of {} only", r.shard, r.shards);
  return text + '\n';
}

/// What a step costs, where that is known: "; 3.2 MJ, 1.75 USD a step".
std::string price_words(const PlanCandidate& c) {
  std::string text;
  if (c.energy_j > 0) text += fmt::format("; {:.3g} MJ", c.energy_j * 1e-6);
  if (c.cost_usd > 0) text += fmt::format("{} {:.3g} USD", text.empty() ? ";" : ",", c.cost_usd);
  return text.empty() ? text : text + " a step";
}

std::string winner_text(const PlanReport& r) {
  const PlanCandidate& w = r.best.front();
  return fmt::format("\nBest  {}\n", plan_words(w.found.plan)) +
         fmt::format("      {} a step (10-90 %: {} to {}), {} tokens/s, MFU {}, {} of {} GB\n",
                     short_time(w.found.time), short_time(w.low), short_time(w.high),
                     short_count(w.tokens_per_second), percent(w.mfu), gigabytes(w.found.memory),
                     gigabytes(r.capacity)) +
         fmt::format("      {}{}\n", placement_words(w.found.placement), price_words(w)) +
         launches_text(r);
}

/// The parts in which `other` takes longer than `winner`, most first: "bubble +0.31 s".
std::string losses(const PlanCandidate& winner, const PlanCandidate& other, std::size_t most) {
  struct Loss {
    TimePart part;
    double seconds;
  };
  std::vector<Loss> list;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    const double seconds = other.parts[i].value - winner.parts[i].value;
    if (std::abs(seconds) < kWorthTelling * winner.found.time.value) continue;
    list.push_back({static_cast<TimePart>(i), seconds});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Loss& a, const Loss& b) { return a.seconds > b.seconds; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name(list[i].part),
                        list[i].seconds > 0 ? "+" : "-",
                        short_time(Seconds{std::abs(list[i].seconds)}));
  }
  return text;
}

std::string best_text(const PlanReport& r) {
  Table table({{"", Align::kLeft},
               {"plan", Align::kLeft},
               {"time"},
               {"behind"},
               {"tokens/s"},
               {"MFU"},
               {"GB"},
               {"loses to the best by", Align::kLeft}});
  const PlanCandidate& winner = r.best.front();
  for (std::size_t i = 0; i < r.best.size(); ++i) {
    const PlanCandidate& c = r.best[i];
    const double behind = c.found.time / winner.found.time - 1;
    table.add({fmt::format("{}", i + 1), plan_words(c.found.plan), short_time(c.found.time),
               i == 0 ? "" : signed_percent(behind), short_count(c.tokens_per_second),
               percent(c.mfu), gigabytes(c.found.memory), i == 0 ? "" : losses(winner, c, 2)});
  }
  return fmt::format("\nThe best {}\n", counted(r.best.size(), "plan")) + table.text();
}

std::string pareto_text(const PlanReport& r) {
  if (r.search.pareto.size() < 2) return {};
  std::vector<ScatterPoint> points;
  for (const PlanFound& found : r.search.pareto) {
    points.push_back({found.memory.value * 1e-9, found.time.value, points.empty() ? '1' : 'o'});
  }
  for (const PlanCandidate& c : r.best) {
    points.push_back({c.found.memory.value * 1e-9, c.found.time.value, '.'});
  }
  std::string text = "\nTime against memory (1 the best, o nothing is both faster and leaner)\n" +
                     scatter_text(points, "GB of a chip", "seconds a step");
  const PlanFound& least = r.search.pareto.back();
  return text + fmt::format("  least memory: {}, {} GB, {}\n", short_time(least.time),
                            gigabytes(least.memory), plan_words(least.plan));
}

/// What a better number of the hardware gains, where it gains anything.
std::string sensitivities_text(const PlanReport& r) {
  std::string text;
  for (const Sensitivity& one : r.sensitivities) {
    if (std::abs(one.change) < kWorthTelling) continue;
    text += fmt::format("{}{} {}", text.empty() ? "\n  +10 % of    " : ", ", one.number,
                        signed_percent(one.change));
  }
  return text;
}

std::string why_text(const PlanReport& r) {
  const PlanCandidate& winner = r.best.front();
  std::vector<std::size_t> order(kTimeParts);
  for (std::size_t i = 0; i < kTimeParts; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return winner.parts[a] > winner.parts[b]; });
  std::string text = "\nWhy\n  its time    ";
  for (std::size_t i = 0; i < 4; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", meaning(static_cast<TimePart>(order[i])),
                        percent(winner.parts[order[i]] / winner.found.time));
  }
  // DualPipe runs two microbatches at a time: the work's parts are longer than the step.
  const double hidden =
      -(winner.parts[static_cast<std::size_t>(TimePart::kBubble)] / winner.found.time);
  if (hidden > kWorthTelling)
    text += fmt::format("; {} at the same time as another", percent(hidden));
  if (r.best.size() > 1) {
    const std::string lost = losses(winner, r.best[1], kTimeParts);
    text += fmt::format("\n  the second  {}", lost.empty() ? "is as fast" : "loses " + lost);
  }
  return text + sensitivities_text(r) + '\n';
}

std::string counts_text(const PlanReport& r) {
  const PlanSearch& s = r.search;
  return fmt::format("\n{}, {} with every placement; {} cannot fit into {} GB\n",
                     counted(s.plans, "possible plan"), grouped(s.placed), grouped(s.too_big),
                     gigabytes(r.capacity * r.memory_share));
}

std::string assumed_text(const PlanReport& r) {
  if (r.assumed.empty()) return {};
  std::string text = "\nAssumed\n";
  for (const std::string& assumption : r.assumed) text += "  " + assumption + '\n';
  return text;
}

std::string changes_words(const PlanReport& r) {
  std::string text;
  for (const PlanChange& change : r.changes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", change.name, change.value);
  }
  return text;
}

/// Of one step of the best plan: money where a price was given, else chips times seconds.
double cost_of(const PlanReport& r) {
  const PlanCandidate& best = r.best.front();
  return r.usd_per_chip_hour > 0 ? best.cost_usd : best.found.time.value * r.chips;
}

/// Whether no point of the sweep is both faster and cheaper, and better in one of them.
bool on_front(std::span<const PlanReport> reports, const PlanReport& one) {
  const double time = one.best.front().found.time.value, cost = cost_of(one);
  return std::none_of(reports.begin(), reports.end(), [&](const PlanReport& other) {
    if (!other.fits()) return false;
    const double its_time = other.best.front().found.time.value, its_cost = cost_of(other);
    return its_time <= time && its_cost <= cost && (its_time < time || its_cost < cost);
  });
}

std::vector<std::string> sweep_row(std::span<const PlanReport> reports, const PlanReport& r) {
  if (!r.fits()) {
    return {changes_words(r), "nothing fits", "-", "-", "-", "-", "-", "-", "", ""};
  }
  const PlanCandidate& w = r.best.front();
  const auto longest = std::max_element(w.parts.begin(), w.parts.end()) - w.parts.begin();
  return {changes_words(r),
          plan_words(w.found.plan),
          short_time(w.found.time),
          short_count(w.tokens_per_second),
          short_count(w.tokens_per_second / std::max(r.chips, 1U)),
          percent(w.mfu),
          gigabytes(w.found.memory),
          short_count(cost_of(r)),
          on_front(reports, r) ? "*" : "",
          fmt::format("{} ({})", name(static_cast<TimePart>(longest)),
                      percent(w.parts[static_cast<std::size_t>(longest)] / w.found.time))};
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  if (!report.fits()) return title(report) + counts_text(report);
  return title(report) + winner_text(report) + best_text(report) + pareto_text(report) +
         why_text(report) + counts_text(report) + assumed_text(report);
}

std::string plans_text(std::span<const PlanReport> reports) {
  if (reports.empty()) return {};
  if (reports.size() == 1) return plan_text(reports.front());
  const PlanReport& first = reports.front();
  Table table({{"", Align::kLeft},
               {"best plan", Align::kLeft},
               {"time"},
               {"tokens/s"},
               {"per chip"},
               {"MFU"},
               {"GB"},
               {first.usd_per_chip_hour > 0 ? "USD" : "chip-s"},
               {"", Align::kLeft},
               {"most time goes to", Align::kLeft}});
  for (const PlanReport& report : reports) table.add(sweep_row(reports, report));
  return fmt::format("{} on {}: {} of {} tokens a step\n\n", first.model, first.on,
                     counted(static_cast<std::uint64_t>(first.global_batch), "sequence"),
                     grouped(static_cast<std::uint64_t>(first.sequence))) +
         table.text() + "  * nothing is both faster and cheaper\n";
}

}  // namespace flopcast
