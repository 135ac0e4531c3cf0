// A search for a terminal: the winner, its rivals, time against memory, and why it wins.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/layout/fit.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/report/plan.h"
#include "report/estimate/report.h"
#include "report/plan/launch.h"
#include "report/plan/words.h"
#include "report/render/rows.h"
#include "report/render/scatter.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

// Less than this share of the step is no reason.
constexpr double kWorthTelling = 5e-4;

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

/// What tells more of the best where others tie with it.
std::string ties_words(const PlanReport& r) {
  if (!r.best.front().tie) return {};
  const double behind = r.best.front().found.time / r.search.pareto.front().time - 1;
  const std::string fastest =
      behind > 0 ? fmt::format("; the fastest takes {} less", percent(behind / (1 + behind))) : "";
  return hanging("      ", fmt::format("the leanest of those that tie, within {}{}",
                                       percent(plan_odds().tie_time - 1), fastest));
}

std::string winner_text(const PlanReport& r) {
  const PlanCandidate& w = r.best.front();
  std::string text =
      '\n' + hanging("Best  ", plan_words(w.found.plan)) +
      hanging("      ", fmt::format("{} a step (10-90 %: {} to {}), {} tokens/s, MFU {}",
                                    short_time(w.found.time), short_time(w.low), short_time(w.high),
                                    short_count(w.tokens_per_second), percent(w.mfu))) +
      hanging("      ",
              fmt::format("{} GB (10-90 %: {} to {}) of {}, {}", gigabytes(w.found.memory),
                          gigabytes(w.memory_low), gigabytes(w.memory_high), gigabytes(r.usable()),
                          odds_words(w.fit_odds))) +
      hanging("      ", placement_words(w.found.placement) + price_words(w)) + ties_words(r);
  if (w.run && r.run) text += '\n' + whole_run_text(*w.run, *r.run);
  return text;
}

/// The parts in which `other` takes longer or less than `winner`, those that differ most first: "bubble +0.31 s".
std::string differences(const PlanCandidate& winner, const PlanCandidate& other, std::size_t most) {
  struct Difference {
    TimePart part;
    double seconds;
  };
  std::vector<Difference> list;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    const double seconds = other.parts[i].value - winner.parts[i].value;
    if (std::abs(seconds) < kWorthTelling * winner.found.time.value) continue;
    list.push_back({static_cast<TimePart>(i), seconds});
  }
  std::stable_sort(list.begin(), list.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name(list[i].part),
                        list[i].seconds > 0 ? "+" : "-",
                        short_time(Seconds{std::abs(list[i].seconds)}));
  }
  return text;
}

/// A plan a paragraph: "=" those that tie with the fastest.
std::string best_text(const PlanReport& r) {
  const PlanCandidate& winner = r.best.front();
  std::string text =
      fmt::format("\nThe best {}{}\n", counted(r.best.size(), "plan"),
                  winner.tie ? " (=: as fast as any, as far as forecasts tell)" : "");
  for (std::size_t i = 0; i < r.best.size(); ++i) {
    const PlanCandidate& c = r.best[i];
    const std::string behind = signed_percent(c.found.time / winner.found.time - 1);
    text += fmt::format("  {:>3} {} {}\n", i + 1, c.tie ? '=' : ' ', plan_words(c.found.plan));
    text +=
        fmt::format("        {}{}, {} tokens/s, MFU {}, {} GB, {}\n", short_time(c.found.time),
                    i == 0 ? "" : fmt::format(" ({})", behind), short_count(c.tokens_per_second),
                    percent(c.mfu), gigabytes(c.found.memory), odds_words(c.fit_odds));
    if (c.run) text += fmt::format("        {}\n", run_words(*c.run));
    const std::string lost = i == 0 ? "" : differences(winner, c, 2);
    if (!lost.empty()) text += fmt::format("        against the best: {}\n", lost);
  }
  return text;
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
  return text + fit_text(fmt::format("  least memory: {}, {} GB, {}\n", short_time(least.time),
                                     gigabytes(least.memory), plan_words(least.plan)),
                         kTextWidth);
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
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    const double share = winner.parts[order[i]] / winner.found.time;
    if (share < kWorthTelling) break;
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", meaning(static_cast<TimePart>(order[i])),
                        percent(share));
  }
  if (r.best.size() > 1) {
    const std::string lost = differences(winner, r.best[1], kTimeParts);
    text += fmt::format("\n  the second  {}", lost.empty() ? "spends its time alike" : lost);
  }
  return text + sensitivities_text(r) + '\n';
}

std::string hint_text(const PlanReport& r) {
  const std::string hint = r.hint();
  return hint.empty() ? hint : fmt::format("\nHint  {}\n", hint);
}

std::string counts_text(const PlanReport& r) {
  const PlanSearch& s = r.search;
  return fmt::format("\n{}, {} with every placement; {} cannot fit into {} GB with odds of {}\n",
                     counted(s.plans, "possible plan"), grouped(s.placed), grouped(s.too_big),
                     gigabytes(r.usable()), percent(r.fit_odds));
}

std::string assumed_text(const PlanReport& r) {
  if (r.assumed.empty()) return {};
  std::string text = "\nAssumed\n";
  for (const std::string& assumption : r.assumed) text += "  " + assumption + '\n';
  return text;
}

}  // namespace

std::string report::gigabytes(Bytes bytes) { return fmt::format("{:.1f}", bytes.value * 1e-9); }

std::string report::short_count(double value) {
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) value /= 1000, ++prefix;
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

std::string plan_text(const PlanReport& report) {
  const auto folded = [](const std::string& text) { return fit_text(text, kTextWidth); };
  if (!report.fits()) return folded(title(report) + counts_text(report));
  return folded(title(report)) + folded(winner_text(report)) + folded(hint_text(report)) +
         launches_text(report) + folded(best_text(report)) + pareto_text(report) +
         folded(why_text(report) + counts_text(report) + assumed_text(report));
}

}  // namespace flopcast
