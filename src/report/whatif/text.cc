// One answer for a terminal. Each function prints one table, with its title.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "report/render/bar.h"
#include "report/render/paragraph.h"
#include "report/render/table.h"
#include "report/whatif/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Align::kLeft;

constexpr std::size_t kMostLines = 12;    // steps, notes; --json has all
constexpr std::size_t kWordWidth = 24;    // of a cell of words beside many numbers
constexpr std::size_t kSourceWidth = 50;  // of one beside few
constexpr unsigned kWaterfallWidth = 20;  // columns that stand for the longer step

std::string under(std::string_view title) { return fmt::format("\n{}\n", title); }

std::string more_lines(std::size_t all, std::size_t shown) {
  if (all <= shown) return {};
  return fmt::format("  ... and {} more (--json prints all)\n", grouped(all - shown));
}

/// "44.64 ms -> 33.40 ms (33.10 ms to 33.90 ms), -25.18 %, 1.34 x faster"
std::string headline(const WhatIfAnswer& answer) {
  const JudgedStep step = judged_step(answer);
  std::string band;
  if (answer.band.low < answer.band.high) {
    band = fmt::format(" ({} to {})", short_time(answer.band.low), short_time(answer.band.high));
  }
  // One line, however long: programs read it. Terminals fold it.
  const std::string line =
      fmt::format("{}: {} -> {}{}, {}\n", step.kind, short_time(step.before),
                  short_time(step.after), band, change_words(step.before, step.after));
  return answer.caution.empty() ? line : line + paragraph("  but ", answer.caution);
}

std::string asked_text(const WhatIfReport& report) {
  const WhatIfAnswer& answer = report.answer;
  std::string text =
      paragraph("", fmt::format("{}, {}: {}", escaped(report.recording), ranks_words(answer),
                                escaped(changes_line(answer.changes))));
  if (!answer.refused.empty()) return text;
  if (change_list(answer.changes).empty()) {
    return text + fmt::format("host step: {}\n", short_time(answer.host_before));
  }
  if (answer.host_before.ps > 0 && answer.before.ps > 0) {
    text += fmt::format("host step: {} -> {}, {}\n", short_time(answer.host_before),
                        short_time(answer.host_after),
                        change_words(answer.host_before, answer.host_after));
  }
  return text;
}

std::string refusals_text(const WhatIfAnswer& answer) {
  std::string text = "No answer: this recording does not hold what it would take\n";
  for (const WhatIfRefusal& refusal : answer.refused) {
    text +=
        paragraph("  - ", fmt::format("{}: {}", escaped(refusal.change), escaped(refusal.missing)));
  }
  return text;
}

/// "+1.234"; changes that do not show are none.
std::string signed_ms(Time change) {
  const double ms = change.us() * 1e-3;
  return std::abs(ms) < 0.0005 ? "0" : fmt::format("{:+.3f}", ms);
}

std::string parts_text(const WhatIfAnswer& answer) {
  if (answer.parts.empty()) return {};
  const JudgedStep step = judged_step(answer);
  Table table({{"part", kLeft}, {"before ms"}, {"share"}, {"after ms"}, {"share"}, {"change ms"}});
  for (const WhatIfPart& part : answer.parts) {
    table.add({step_part_title(part.part), in_ms(part.before),
               percent(share(part.before, step.before)), in_ms(part.after),
               percent(share(part.after, step.after)), signed_ms(part.after - part.before)});
  }
  return under("Where the step goes, the mean over ranks") + table.text();
}

/// A bar from one time to another, in columns of the longer step.
std::string floating_bar(Time from, Time to, Time longest) {
  const auto columns = [longest](Time at) {
    return static_cast<std::size_t>(
        std::lround(std::max(0.0, share(at, longest)) * kWaterfallWidth));
  };
  const auto [first, last] = std::minmax(from, to);
  return std::string(columns(first), ' ') + bar(share(last - first, longest), kWaterfallWidth);
}

/// How the step goes down and up, cause by cause: each put after those before it, and each put last.
std::string causes_text(const WhatIfAnswer& answer) {
  if (answer.causes.empty()) return {};
  const JudgedStep step = judged_step(answer);
  Time longest = std::max(step.before, step.after), at = step.before;
  for (const WhatIfCause& cause : answer.causes) longest = std::max(longest, at += cause.forwards);
  Table table({{"change", kLeft}, {"one by one"}, {"put last"}, {"step ms"}, {"", kLeft}});
  at = step.before;
  table.add({"before", "", "", in_ms(at), floating_bar({}, at, longest)});
  for (const WhatIfCause& cause : answer.causes) {
    const Time from = at;
    at += cause.forwards;
    table.add({shortened(cause.change, kWordWidth), signed_time(cause.forwards),
               cause.backwards ? signed_time(*cause.backwards) : "-", in_ms(at),
               floating_bar(from, at, longest)});
  }
  table.add({"after", "", "", in_ms(step.after), floating_bar({}, step.after, longest)});
  return under("What each change is worth: put after those above it, and put last of all") +
         table.text();
}

std::string answer_steps_text(const WhatIfAnswer& answer) {
  if (answer.steps.size() < 2) return {};
  Table table(
      {{"step", kLeft}, {"GPU ms"}, {"after"}, {"change"}, {"host ms"}, {"after"}, {"change"}});
  for (const WhatIfStep& step : answer.steps) {
    if (table.size() == kMostLines) break;
    table.add({shortened(step.name, kWordWidth), in_ms(step.before_gpu), in_ms(step.after_gpu),
               signed_percent(relative_error(step.before_gpu, step.after_gpu)),
               in_ms(step.before_host), in_ms(step.after_host),
               signed_percent(relative_error(step.before_host, step.after_host))});
  }
  return under("Steps, means over ranks; the answer is the mean of the usual ones") + table.text() +
         more_lines(answer.steps.size(), table.size());
}

std::string band_text(const WhatIfAnswer& answer) {
  if (answer.band.sources.empty()) return {};
  Table table({{"source of doubt", kLeft}, {"below"}, {"above"}});
  for (const WhatIfBand::Source& source : answer.band.sources) {
    table.add(
        {shortened(source.what, kSourceWidth), short_time(source.below), short_time(source.above)});
  }
  return under(fmt::format("The band, {} to {}: how far the step may lie from the answer",
                           short_time(answer.band.low), short_time(answer.band.high))) +
         table.text();
}

std::string notes_text(const WhatIfAnswer& answer) {
  if (answer.notes.empty()) return {};
  std::string text = under("What this rests on");
  const std::size_t shown = std::min(answer.notes.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const WhatIfNote& note = answer.notes[i];
    std::string words = escaped(note.what);
    if (note.tasks > 0) words += fmt::format(" ({}", counted(note.tasks, "task"));
    if (note.share > 0)
      words += fmt::format("{}{} of GPU time", note.tasks > 0 ? ", " : " (", percent(note.share));
    if (note.tasks > 0 || note.share > 0) words += ')';
    text += paragraph(fmt::format("  {:<8}  ", note.how), words);
  }
  return text + more_lines(answer.notes.size(), shown);
}

std::string title_of_total(const std::string& name) {
  for (const TotalRow& row : total_rows()) {
    if (row.name == name) return row.title;
  }
  return name;
}

/// What is known of a run beside its time, and why the rest is not.
std::string totals_text(const WhatIfAnswer& answer) {
  const WhatIfTotals &was = answer.totals_before, &is = answer.totals;
  Table table({{"", kLeft}, {"before"}, {"after"}, {"change"}});
  for (const TotalRow& row : total_rows()) {
    const std::optional<double>&before = was.*row.value, &after = is.*row.value;
    if (!before && !after) continue;
    const bool both = before && after && *before > 0;
    table.add({row.title, before ? row.shown(*before) : "-", after ? row.shown(*after) : "-",
               both ? signed_percent(*after / *before - 1) : "-"});
  }
  std::string text = under("The run beside its time") + (table.size() > 0 ? table.text() : "");
  if (!is.basis.empty()) text += paragraph("  from: ", escaped(is.basis));
  for (const WhatIfTotals::Missing& missing : is.missing) {
    text += paragraph("  not known: ",
                      fmt::format("{}: {}", title_of_total(missing.total), escaped(missing.why)));
  }
  return is.basis.empty() && is.missing.empty() && table.size() == 0 ? std::string() : text;
}

std::string worth_text(const WhatIfReport& report) {
  if (!report.sensitivity) return {};
  const Time now = judged_step(report.answer).before;
  Table table(
      {{"part of the work", kLeft}, {"work ms"}, {"10 % less"}, {"change"}, {"none"}, {"change"}});
  std::string cautions;
  const auto cells = [now](std::vector<std::string>& row, const std::optional<Time>& step) {
    row.push_back(step ? in_ms(*step) : "-");
    row.push_back(step ? signed_percent(relative_error(now, *step)) : "-");
  };
  for (const WhatIfSensitivity& part : *report.sensitivity) {
    std::vector<std::string> row = {worth_title(part.part), in_ms(part.work)};
    cells(row, part.less);
    cells(row, part.limit);
    table.add(std::move(row));
    if (!part.less || !part.limit)
      cautions +=
          paragraph("  - ", worth_title(part.part) +
                                ": without it ranks wait for each other, the run cannot finish");
    if (!part.caution.empty())
      cautions += paragraph("  - ", fmt::format("{}: {}", worth_title(part.part), part.caution));
  }
  return under(fmt::format("What is worth working on: the recorded step, {}, with less of it",
                           short_time(now))) +
         table.text() + cautions;
}

}  // namespace

std::string whatif_text(const WhatIfReport& report) {
  const WhatIfAnswer& answer = report.answer;
  if (!answer.refused.empty()) return refusals_text(answer) + asked_text(report);
  if (change_list(answer.changes).empty()) {
    const JudgedStep step = judged_step(answer);
    return fmt::format("{}: {}\n", step.kind, short_time(step.before)) + asked_text(report) +
           worth_text(report);
  }
  return headline(answer) + asked_text(report) + parts_text(answer) + causes_text(answer) +
         answer_steps_text(answer) + totals_text(answer) + worth_text(report) + band_text(answer) +
         notes_text(answer);
}

}  // namespace flopcast
