#include "report/plan/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/format.h"
#include "flopcast/parallel/fields.h"
#include "report/render/rows.h"

namespace flopcast::report {
namespace {

bool is_the_best(const PlanReport& r, const PlanFound& found) {
  const PlanFound& best = r.best.front().found;
  return found.number == best.number && found.time == best.time;
}

/// "+6.2 %" of time behind the best plan of all.
std::string behind_words(const PlanReport& r, const PlanFound& found) {
  if (is_the_best(r, found)) return "the best";
  return signed_percent(found.time / r.best.front().found.time - 1);
}

/// Who runs the best plan of all, else the fastest of its own plans; null: nobody runs any.
const PlanLaunch* shown_launch(const PlanReport& r) {
  const PlanLaunch* fastest = nullptr;
  for (const PlanLaunch& one : r.launches) {
    if (!one.best) continue;
    if (is_the_best(r, *one.best)) return &one;
    if (fastest == nullptr || one.best->time < fastest->best->time) fastest = &one;
  }
  return fastest;
}

std::string side_by_side(const PlanReport& r) {
  std::string text = "\nBest of each launcher\n";
  for (const PlanLaunch& one : r.launches) {
    const std::string head = fmt::format("  {:<23}", launcher_words(one.launcher));
    if (!one.best) {
      text += hanging(head, fmt::format("none: {}", why_none(one)));
      continue;
    }
    text += hanging(head, fmt::format("{} ({}): {}", short_time(one.best->time),
                                      behind_words(r, *one.best), plan_words(one.best->plan)));
  }
  return text;
}

std::string launch_text(const PlanReport& r, const PlanLaunch& one) {
  const Launch& launch = one.launch;
  const std::string head = fmt::format("\nLaunch of {}'s best ({}): ", launcher_words(one.launcher),
                                       behind_words(r, *one.best));
  std::string text = head.substr(0, 1) + hanging(head.substr(1), plan_words(one.best->plan), 2);
  for (const std::string& lost : launch.lost) {
    text += hanging("  ", fmt::format("NOT this plan: it cannot run {}", lost));
  }
  std::string script = launch_script(launch);
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    text += end == 0 ? "\n" : fmt::format("  {}\n", script.substr(0, end));
    script.erase(0, std::min(end + 1, script.size()));
  }
  for (const PlanElsewhere& other : launch.elsewhere) {
    text += hanging("  # ", fmt::format("{} {} by {}", other.name, other.value, other.where));
  }
  for (const std::string& note : launch.notes) text += hanging("  # ", note);
  for (const std::string& assumed : one.assumed) text += hanging("  # ", assumed);
  return text;
}

}  // namespace

std::string launches_text(const PlanReport& r) {
  const PlanLaunch* shown = shown_launch(r);
  std::string text;
  if (shown != nullptr) text += launch_text(r, *shown);
  if (r.launchable || r.launches.empty()) return text;
  if (shown != nullptr) text += hanging("  # ", "the others': --launchable NAME, or --json");
  return text + side_by_side(r);
}

}  // namespace flopcast::report
