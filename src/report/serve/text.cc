// One answer for a terminal. Each function prints one table, with its title.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/serve.h"
#include "report/render/bar.h"
#include "report/render/rows.h"
#include "report/render/table.h"
#include "report/serve/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr Align kToLeft = Align::kLeft;
constexpr unsigned kPartBar = 16;       // columns of the largest part
constexpr std::size_t kMostParts = 14;  // of an iteration; --json has all

std::string headed(std::string_view title) { return fmt::format("\n{}\n", title); }

std::string whole(double value) { return grouped_whole(value); }

/// "(95.0 ms to 120 ms)": what the band makes of a number; empty where there is no band.
template <typename Number, typename Words>
std::string band_words(const ServeAnswer& answer, Number&& number, Words&& words) {
  if (!answer.low || !answer.high) return {};
  const auto [least, most] = std::minmax({number(*answer.low), number(*answer.high)});
  return fmt::format("{} to {}", words(least), words(most));
}

std::string serve_headline(const ServeAnswer& answer) {
  const ServeSummary& s = answer.summary;
  return fmt::format("TTFT {} (p99 {}), TPOT {} (p99 {}), {} output tokens/s\n",
                     brief_time(s.ttft.mean), brief_time(s.ttft.p99), brief_time(s.tpot.mean),
                     brief_time(s.tpot.p99), whole(s.output_tokens_per_s));
}

/// Whether the limits hold, and how surely.
std::string verdict_text(const ServeAnswer& answer) {
  if (answer.question.limits.empty()) return {};
  const std::string holds =
      fmt::format("{} {}", answer.summary.meets ? "meets" : "MISSES", escaped(answer.question.slo));
  if (!answer.verdict) return holds + "\n";
  switch (*answer.verdict) {
    case ServeVerdict::kSurely:
      return holds + ", surely: at the slow end of the 10-90 % band too\n";
    case ServeVerdict::kLikely:
      return holds + " by the forecast, but not at the slow end of its 10-90 % band\n";
    case ServeVerdict::kUnlikely:
      return holds + " by the forecast, but not at the fast end of its 10-90 % band\n";
    case ServeVerdict::kNot:
      break;
  }
  return holds + ", surely: at the fast end of the 10-90 % band too\n";
}

/// "3.42 requests/s: the largest rate ..." and its margin.
std::string largest_text(const ServeAnswer& answer) {
  if (!answer.largest) return {};
  const auto& [load, next, slow, fast] = answer.largest->margin;
  const auto number = [](double value) { return fmt::format("{}", value); };
  std::string text = fmt::format("{} {}: the most that hold {}\n", number(load), answer.load_unit,
                                 escaped(answer.question.slo));
  text += slow > 0 ? fmt::format("  {} hold at the slow end of the 10-90 % band", number(slow))
                   : std::string("  none holds at the slow end of the 10-90 % band");
  text += fmt::format(", {} at the fast end\n", fast > 0 ? number(fast) : "none");
  if (next > 0) {
    text += fmt::format("  of {} tried the next above it, {}, does not hold\n",
                        counted(answer.largest->tried.size(), "load"), number(next));
  } else {
    text += "  more only queue: it is all that the fleet runs at once\n";
  }
  return text + "At that load:\n";
}

std::string percentiles_text(const ServeAnswer& answer) {
  Table table({{"", kToLeft}, {"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"max"}});
  const auto add = [&](const char* title, const ServingPercentiles& p) {
    std::vector<std::string> cells = {title};
    for (const Seconds value : {p.mean, p.p50, p.p90, p.p95, p.p99, p.max}) {
      cells.push_back(short_time(value));
    }
    table.add(std::move(cells));
  };
  const auto add_with_band = [&](const char* title, const ServingPercentiles ServeSummary::*of) {
    if ((answer.summary.*of).count == 0) return;
    add(title, answer.summary.*of);
    if (answer.low) add("  fast", *answer.low.*of);
    if (answer.high) add("  slow", *answer.high.*of);
  };
  add_with_band("TTFT", &ServeSummary::ttft);
  add_with_band("TPOT", &ServeSummary::tpot);
  add_with_band("gap", &ServeSummary::inter_token);
  add_with_band("answer", &ServeSummary::latency);
  std::string text =
      headed("What clients see: first token, each token behind it, gaps, whole answer") +
      table.text();
  if (answer.low && answer.high) {
    text += "  fast, slow: a tenth of measured deployments lie below, a tenth above\n";
  }
  return text;
}

std::string delivery_text(const ServeAnswer& answer) {
  const ServeSummary& s = answer.summary;
  std::string text;
  const auto add = [&text](std::string_view what, const std::string& value) {
    text += fmt::format("  {}: {}\n", what, value);
  };
  const std::string band = band_words(
      answer, [](const ServeSummary& one) { return one.output_tokens_per_s; }, whole);
  add("output tokens/s", fmt::format("{}{}, {} a chip", whole(s.output_tokens_per_s),
                                     band.empty() ? "" : fmt::format(" ({})", band),
                                     fmt::format("{:.1f}", s.output_tokens_per_s / s.chips)));
  add("all tokens/s", whole(s.total_tokens_per_s));
  add("requests/s", fmt::format("{:.4g}", s.requests_per_s));
  if (!answer.question.limits.empty()) {
    add(fmt::format("within {}", answer.question.slo),
        fmt::format("{} of requests, goodput {:.4g} requests/s", percent(s.within),
                    s.goodput_requests_per_s));
  }
  if (s.usd_per_million_tokens > 0) {
    add("cost", fmt::format("{:.4g} USD per million output tokens", s.usd_per_million_tokens));
  }
  std::string requests = fmt::format("{} answered", grouped(s.answered));
  if (s.lost > 0) requests += fmt::format(", {} lost", grouped(s.lost));
  if (s.unanswered > 0) requests += fmt::format(", {} never answered", grouped(s.unanswered));
  add("requests", requests);
  if (answer.run.counts.prefix_tokens > 0) {
    add("prompt tokens found in the cache",
        grouped(static_cast<std::uint64_t>(answer.run.counts.prefix_tokens)));
  }
  return headed("What it delivers") + text;
}

std::string memory_text(const ServeAnswer& answer) {
  Table table({{"a chip of", kToLeft},
               {"weights"},
               {"activ."},
               {"graphs"},
               {"KV"},
               {"tokens"},
               {"used"},
               {"peak"},
               {"busy"}});
  const auto bytes = [](Bytes b) { return short_bytes(b); };
  for (const ServePool& pool : answer.pools) {
    const ServingMemory& m = pool.memory;
    table.add({pool.role, bytes(m.weights + m.drafts), bytes(m.activations), bytes(m.graphs),
               bytes(m.kv),
               grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, m.tokens))),
               percent(pool.kv_mean), percent(pool.kv_peak), percent(pool.busy)});
  }
  std::string text =
      headed("Memory; KV: room for keys and values, and how much of it is used") + table.text();
  const std::int64_t preempted = answer.summary.preemptions;
  if (preempted > 0) {
    text += fmt::format("  {}\n", counted(static_cast<std::uint64_t>(preempted), "preemption"));
  }
  return text;
}

std::string parts_text(const std::string& title, Time time, std::vector<IterationPart> parts) {
  if (parts.empty()) return {};
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.time > b.time; });
  double total = 0;
  for (const IterationPart& part : parts) total += part.time.value;
  Table table({{"part", kToLeft},
               {"time"},
               {"share"},
               {"", kToLeft},
               {"bound by", kToLeft},
               {"basis", kToLeft}});
  for (const IterationPart& part : parts) {
    if (table.size() == kMostParts || !(part.time.value > 0)) break;
    const double share_of_all = total > 0 ? part.time.value / total : 0;
    table.add({part.name, short_time(part.time), percent(share_of_all),
               bar(part.time / parts.front().time, kPartBar), part.bound,
               std::string(name(part.basis))});
  }
  return headed(fmt::format("{}: {}", title, short_time(time))) + table.text();
}

std::string pool_text(const ServePool& pool) {
  const std::string of = pool.role == "replica" ? "" : fmt::format(" of a {} replica", pool.role);
  std::string text = parts_text(
      fmt::format("An iteration{} with its mean batch, {:.1f} answers that see {} tokens", of,
                  pool.decodes, whole(pool.context)),
      pool.iteration, pool.parts);
  const std::string with =
      fmt::format("{} prompt tokens{}", whole(pool.prefill_tokens),
                  pool.parts.empty()
                      ? ""
                      : fmt::format(" besides, {} of the busy time", percent(pool.prefill_share)));
  text += parts_text(fmt::format("An iteration{} with {}", of, with), pool.prompt_iteration,
                     pool.prompt_parts);
  return text;
}

std::string serve_limits_text(const ServeAnswer& answer) {
  std::string text;
  for (const std::string& limit : answer.limits) text += fmt::format("  - {}\n", limit);
  return text.empty() ? text : headed("What limits it") + text;
}

std::string relative(double now, double then) {
  return now > 0 ? signed_percent(then / now - 1) : "-";
}

/// Under a heading of its own: "met", "missed".
std::string limits_cell(const ServeAnswer& answer, const ServeSummary& s) {
  if (answer.question.limits.empty()) return "";
  return s.meets ? "met" : "missed";
}

/// Columns of a summary that is compared; limits only where there are any.
std::vector<Table::Column> summary_columns(const ServeAnswer& answer,
                                           std::vector<Table::Column> columns) {
  if (!answer.question.limits.empty()) columns.push_back({"limits", kToLeft});
  return columns;
}

std::string next_text(const ServeAnswer& answer) {
  if (answer.next.empty()) return {};
  const ServeSummary& now = answer.summary;
  Table table(
      summary_columns(answer, {{"chips"}, {"TTFT p99"}, {"TPOT p99"}, {"tokens/s"}, {"change"}}));
  std::vector<std::string> changes;
  std::string refused;
  const auto add = [&](const std::string& words, const ServeSummary& s) {
    changes.push_back(words);
    std::vector<std::string> cells = {grouped(s.chips), brief_time(s.ttft.p99),
                                      brief_time(s.tpot.p99), whole(s.output_tokens_per_s),
                                      relative(now.output_tokens_per_s, s.output_tokens_per_s)};
    if (!answer.question.limits.empty()) cells.push_back(limits_cell(answer, s));
    table.add(std::move(cells));
  };
  add("as asked", now);
  for (const ServeVariant& variant : answer.next) {
    if (variant.refused.empty()) {
      add(variant.change, variant.summary);
    } else {
      refused += fmt::format("  {}: no answer: {}\n", variant.change, escaped(variant.refused));
    }
  }
  return headed("What the next chips would bring") + with_words(table, changes) + refused;
}

std::string serve_sensitivity_text(const ServeAnswer& answer) {
  if (answer.sensitivity.empty()) return {};
  const ServeSummary& now = answer.summary;
  Table table({{"with", kToLeft}, {"TTFT"}, {"TPOT"}, {"output tokens/s"}});
  for (const ServeVariant& variant : answer.sensitivity) {
    if (!variant.refused.empty()) continue;
    const ServeSummary& s = variant.summary;
    table.add({variant.change, relative(now.ttft.mean.value, s.ttft.mean.value),
               relative(now.tpot.mean.value, s.tpot.mean.value),
               relative(now.output_tokens_per_s, s.output_tokens_per_s)});
  }
  return headed("What a tenth of the machine is worth: change of the means") + table.text();
}

std::string curve_text(const ServeAnswer& answer) {
  if (answer.curve.empty()) return {};
  Table table(summary_columns(
      answer,
      {{answer.load_unit}, {"TTFT"}, {"p99"}, {"TPOT"}, {"p99"}, {"tokens/s"}, {"a chip"}}));
  for (const ServeCurvePoint& point : answer.curve) {
    const ServeSummary& s = point.summary;
    std::vector<std::string> cells = {fmt::format("{:.4g}", point.load),
                                      brief_time(s.ttft.mean),
                                      brief_time(s.ttft.p99),
                                      brief_time(s.tpot.mean),
                                      brief_time(s.tpot.p99),
                                      whole(s.output_tokens_per_s),
                                      fmt::format("{:.1f}", s.output_tokens_per_s / s.chips)};
    if (!answer.question.limits.empty()) cells.push_back(limits_cell(answer, s));
    table.add(std::move(cells));
  }
  return headed("Latency against load") + table.text();
}

std::string rests_text(const ServeAnswer& answer) {
  std::string text;
  for (const ServePool& pool : answer.pools) {
    text += fmt::format("  iterations{}: {}{}\n",
                        answer.pools.size() > 1 ? fmt::format(" of the {} pool", pool.role) : "",
                        name(pool.basis), pool.source.empty() ? "" : "; " + escaped(pool.source));
  }
  if (answer.low && answer.high) {
    const auto ends = [&](const ServingPercentiles ServeSummary::*of) {
      const double now = (answer.summary.*of).mean.value;
      if (!(now > 0)) return std::string("-");
      return fmt::format("{:.2f} to {:.2f}", ((*answer.low).*of).mean.value / now,
                         ((*answer.high).*of).mean.value / now);
    };
    text += fmt::format(
        "  the band, 10-90 % of measured deployments of {}: mean TTFT {}, mean TPOT {} of the "
        "forecast; "
        "of percentiles wider by as much as these were off beyond their mean on measured "
        "timelines\n",
        name(answer.pools.front().deployment.settings.engine), ends(&ServeSummary::ttft),
        ends(&ServeSummary::tpot));
    text += answer.question.workload.kind == ServingWorkload::Kind::kClosed
                ? "  its ends scale the run's times\n"
                : "  its ends are runs of fleets as fast and as slow, queues and all\n";
  }
  const ServingFactors& f = answer.question.fleet.pool.factors;
  if (!(f == ServingFactors{})) {
    text += fmt::format(
        "  calibrated by a measured point: decode x{:.3g}, prefill x{:.3g}, front x{:.3g}, host "
        "x{:.3g}\n",
        f.decode, f.prefill, f.front, f.host);
  }
  for (const std::string& assumed : answer.question.assumed) {
    text += fmt::format("  {}\n", escaped(assumed));
  }
  for (const Anomaly& anomaly : answer.question.workload.trace.anomalies.list()) {
    text += fmt::format("  of the trace: {} {}, first {}\n", grouped(anomaly.count), anomaly.kind,
                        escaped(anomaly.first));
  }
  return headed("What this rests on") + text;
}

}  // namespace

std::string serve_text(const ServeAnswer& answer) {
  std::string text = largest_text(answer) + serve_headline(answer) + verdict_text(answer) +
                     fmt::format("{}: {}\n", escaped(serve_title(answer.question)),
                                 escaped(serve_line(answer.question))) +
                     percentiles_text(answer) + delivery_text(answer) + memory_text(answer);
  for (const ServePool& pool : answer.pools) text += pool_text(pool);
  return folded_rows(text + serve_limits_text(answer) + next_text(answer) +
                     serve_sensitivity_text(answer) + curve_text(answer) + rests_text(answer));
}

}  // namespace flopcast
