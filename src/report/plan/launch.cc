#include "report/plan/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/format.h"
#include "flopcast/parallel/fields.h"
#include "report/render/table.h"

namespace flopcast::report {
namespace {

constexpr std::size_t kColumns = 80;

/// Words of a text over lines of a terminal: the first behind `first`, the others behind as many blanks.
std::string folded(std::string_view first, std::string_view text) {
  std::string out(first);
  std::size_t width = first.size();
  bool begins = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!begins && width + 1 + word.size() > kColumns) {
      out += '\n' + std::string(first.size(), ' ');
      width = first.size();
      begins = true;
    }
    out += fmt::format("{}{}", begins ? "" : " ", word);
    width += word.size() + (begins ? 0 : 1);
    begins = false;
  }
  return out + '\n';
}

/// "+6.2 %" of time behind the best plan of all.
std::string behind_words(const PlanReport& r, const PlanFound& found) {
  const double behind = found.time / r.best.front().found.time - 1;
  const PlanFound& best = r.best.front().found;
  const bool same = found.number == best.number && found.time == best.time;
  return same ? "the best" : signed_percent(behind);
}

std::string side_by_side(const PlanReport& r) {
  std::string text = "\nBest of each launcher\n";
  for (const PlanLaunch& one : r.launches) {
    const std::string head = fmt::format("  {:<23}", launcher_words(one.launcher));
    if (!one.best) {
      text += folded(head, fmt::format("none: {}", why_none(one)));
      continue;
    }
    text += folded(head, fmt::format("{} ({}): {}", short_time(one.best->time),
                                     behind_words(r, *one.best), plan_words(one.best->plan)));
  }
  return text;
}

std::string launch_text(const PlanLaunch& one) {
  const Launch& launch = one.launch;
  std::string text = fmt::format("\nLaunch, {}\n", launcher_words(one.launcher));
  for (const std::string& lost : launch.lost) {
    text += folded("  ", fmt::format("NOT this plan: it cannot run {}", lost));
  }
  std::string script = launch_script(launch);
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    text += end == 0 ? "\n" : fmt::format("  {}\n", script.substr(0, end));
    script.erase(0, std::min(end + 1, script.size()));
  }
  for (const PlanElsewhere& other : launch.elsewhere) {
    text += folded("  # ", fmt::format("{} {} by {}", other.name, other.value, other.where));
  }
  for (const std::string& note : launch.notes) text += folded("  # ", note);
  for (const std::string& assumed : one.assumed) text += folded("  # ", assumed);
  return text;
}

}  // namespace

std::string launches_text(const PlanReport& r) {
  const PlanLaunch* fastest = nullptr;
  for (const PlanLaunch& one : r.launches) {
    const bool first = one.best && (fastest == nullptr || one.best->time < fastest->best->time);
    if (first) fastest = &one;
  }
  std::string text = r.launchable || r.launches.empty() ? "" : side_by_side(r);
  if (fastest != nullptr) text += launch_text(*fastest);
  if (!r.launchable && fastest != nullptr) {
    text +=
        folded("  # ", "the others': --launchable torchtitan, deepspeed or megatron; or --json");
  }
  return text;
}

}  // namespace flopcast::report
