// Why a search found nothing, and what to give up for the nearest plan that fits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

/// A way out: what to change, and the fastest plan it leads to.
struct WayOut {
  std::string change;
  PlanCandidate plan;
};

std::string found_words(const PlanCandidate& one) {
  return fmt::format("{}: {}, {}, {}", plan_words(one.found.plan), short_time(one.found.time),
                     short_bytes(one.found.memory), odds_words(one.fit_odds));
}

/// The best plan of a question that asks less.
std::optional<WayOut> try_question(PlanQuestion question, std::string change) {
  question.best = 1;
  question.launches = false;
  const Result<PlanReport> report = answer(question);
  if (!report || !report->fits()) return std::nullopt;
  return WayOut{std::move(change), report->best.front()};
}

std::vector<WayOut> without_constraints(const PlanQuestion& question) {
  std::vector<WayOut> ways;
  for (std::size_t i = 0; i < question.constraints.size(); ++i) {
    PlanQuestion freer = question;
    freer.constraints.erase(freer.constraints.begin() + static_cast<std::ptrdiff_t>(i));
    auto way =
        try_question(freer, fmt::format("without '{}'", constraint_text(question.constraints[i])));
    if (way) ways.push_back(std::move(*way));
  }
  if (question.launchable) {
    PlanQuestion freer = question;
    freer.launchable.reset();
    auto way =
        try_question(freer, fmt::format("without --launchable {}", name(*question.launchable)));
    if (way) ways.push_back(std::move(*way));
  }
  if (ways.empty() && question.constraints.size() > 1) {
    PlanQuestion free = question;
    free.constraints.clear();
    if (auto way = try_question(free, "without any constraint")) ways.push_back(std::move(*way));
  }
  return ways;
}

std::optional<WayOut> with_more_memory(const PlanQuestion& question, const PlanReport& report) {
  const bool enough =
      report.search.leanest &&
      report.search.leanest->memory <= largest_fitting(report.capacity, report.fit_odds);
  if (question.training.memory_share >= 1 || !enough) return std::nullopt;
  PlanQuestion freer = question;
  freer.training.memory_share = 1;
  return try_question(freer, "with all of the memory");
}

/// Whoever tries it may find that it fits.
std::optional<WayOut> at_the_edge(const PlanQuestion& question, const PlanReport& report) {
  constexpr double kEdge = 0.5;
  const bool enough = report.search.leanest &&
                      report.search.leanest->memory <= largest_fitting(report.usable(), kEdge);
  if (report.fit_odds <= kEdge || !enough) return std::nullopt;
  PlanQuestion freer = question;
  freer.training.fit_odds = kEdge;
  return try_question(freer, "at the edge (--fit-odds 0.5)");
}

std::optional<WayOut> on_more_chips(const PlanQuestion& question, const PlanReport& report) {
  constexpr unsigned kMostDoublings = 4;
  PlanQuestion larger = question;
  std::erase_if(larger.changes, [](const PlanChange& change) { return change.name == "n"; });
  larger.chips = report.chips;
  for (unsigned i = 0; i < kMostDoublings; ++i) {
    larger.chips *= 2;
    if (auto way = try_question(larger, fmt::format("on {} chips", larger.chips))) return way;
  }
  return std::nullopt;
}

std::string memory_words(const PlanReport& report) {
  std::string text =
      fmt::format("none of {} fits into {} of a chip's memory with odds of {} or more",
                  counted(report.search.plans, "possible plan"), short_bytes(report.usable()),
                  percent(report.fit_odds));
  if (report.search.leanest) {
    const PlanFound& leanest = *report.search.leanest;
    text += fmt::format("; the leanest needs {} ({}; {})", short_bytes(leanest.memory),
                        plan_words(leanest.plan),
                        odds_words(fit_odds(leanest.memory, report.usable())));
  }
  return text;
}

std::string impossible_words(const PlanReport& report) {
  std::string text = "no plan is possible";
  if (!report.constraints.empty()) {
    text += fmt::format(" under {}", fmt::join(constraint_texts(report.constraints), ", "));
  }
  constexpr std::size_t kMostReasons = 3;
  for (std::size_t i = 0; i < std::min(kMostReasons, report.search.refused.size()); ++i) {
    text += fmt::format("{} {}", i == 0 ? ":" : ";", report.search.refused[i].first);
  }
  return text;
}

}  // namespace

Diagnostic plan_refusal(const PlanQuestion& question, const PlanReport& report) {
  const bool possible = report.search.plans > 0;
  std::vector<WayOut> ways = without_constraints(question);
  if (possible) {
    if (auto way = with_more_memory(question, report)) ways.push_back(std::move(*way));
    if (auto way = at_the_edge(question, report)) ways.push_back(std::move(*way));
    if (ways.empty()) {
      if (auto way = on_more_chips(question, report)) ways.push_back(std::move(*way));
    }
  }
  std::stable_sort(ways.begin(), ways.end(), [](const WayOut& a, const WayOut& b) {
    return a.plan.found.time < b.plan.found.time;
  });
  std::string hint;
  for (const WayOut& way : ways) {
    hint += fmt::format("{}{}: {}", hint.empty() ? "nearest plans that fit: " : "; ", way.change,
                        found_words(way.plan));
  }
  if (hint.empty()) {
    hint = possible ? "take more chips, chips with more memory or a smaller model"
                    : "choose another number of chips or another batch";
  }
  return {possible || !ways.empty() ? ErrorCode::kTooLarge : ErrorCode::kUsage,
          fmt::format("{} on {} chips", report.model, report.chips),
          possible ? memory_words(report) : impossible_words(report), std::move(hint)};
}

}  // namespace flopcast
