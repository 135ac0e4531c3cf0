// What-ifs beside their truths: `validate whatif`.
#include <fmt/format.h>

#include "base/text/json_writer.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/whatif.h"
#include "flopcast/version.h"
#include "report/render/table.h"
#include "report/whatif/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;

constexpr std::size_t kCaseWidth = 44;

void exact_or_null(JsonWriter& w, std::string_view key, const std::optional<double>& value) {
  if (value) {
    w.exact(key, *value);
  } else {
    w.null(key);
  }
}

void write_outcome(JsonWriter& w, const WhatIfOutcome& outcome) {
  w.begin_object();
  w.text("id", outcome.asked.id);
  w.text("recording", outcome.asked.recording.string());
  w.text("judge", outcome.asked.host_step ? "host_step" : "gpu_step");
  w.begin_array("changes", Layout::kLine);
  for (const std::string& change : change_list(outcome.asked.changes)) w.text({}, change);
  w.end_array();
  exact_or_null(w, "before_s", outcome.answer ? std::optional(outcome.before_s) : std::nullopt);
  exact_or_null(w, "forecast_s", outcome.forecast_s);
  exact_or_null(w, "truth_s", outcome.truth_s);
  w.ratio("error", outcome.error());
  if (outcome.forecast_s) {
    w.begin_object("band", Layout::kLine);
    w.exact("low_s", outcome.low_s);
    w.exact("high_s", outcome.high_s);
    w.end_object();
  } else {
    w.null("band");
  }
  w.boolean("in_band", outcome.in_band());
  w.begin_array("refusals");
  if (outcome.answer) {
    for (const WhatIfRefusal& refusal : outcome.answer->refused) {
      w.begin_object({}, Layout::kLine);
      w.text("change", refusal.change);
      w.text("missing", refusal.missing);
      w.end_object();
    }
  }
  w.end_array();
  if (outcome.failure) {
    w.text("failure", outcome.failure->text());
  } else {
    w.null("failure");
  }
  w.end_object();
}

void write_summary_of(JsonWriter& w, const WhatIfSummary& summary) {
  const auto over = [&](double value) {
    return summary.n > 0 ? std::optional(value) : std::nullopt;
  };
  w.begin_object("summary");
  w.count("cases", summary.cases);
  w.count("n", summary.n);
  w.count("refused", summary.refused);
  w.count("failed", summary.failed);
  w.ratio("mean_abs_error", over(summary.mean_abs_error));
  w.ratio("max_abs_error", over(summary.max_abs_error));
  w.ratio("band_coverage", over(summary.band_coverage));
  w.end_object();
}

std::string ms(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

std::vector<std::string> row_of_outcome(const WhatIfOutcome& outcome) {
  std::vector<std::string> row = {shortened(outcome.asked.id, kCaseWidth)};
  row.push_back(outcome.answer ? ms(outcome.before_s) : "-");
  row.push_back(outcome.forecast_s ? ms(*outcome.forecast_s) : "-");
  row.push_back(outcome.forecast_s ? fmt::format("{} to {}", ms(outcome.low_s), ms(outcome.high_s))
                                   : "-");
  row.push_back(outcome.truth_s ? ms(*outcome.truth_s) : "-");
  row.push_back(outcome.error() ? fmt::format("{:+.2f} %", 100 * *outcome.error()) : "-");
  row.push_back(!outcome.error() ? "-" : outcome.in_band() ? "in band" : "outside");
  return row;
}

std::string no_forecast(const WhatIfOutcome& outcome) {
  if (outcome.failure)
    return fmt::format("  - {}: {}\n", escaped(outcome.asked.id), outcome.failure->text());
  std::string text;
  for (const WhatIfRefusal& refusal : outcome.answer->refused) {
    text += fmt::format("  - {}: {}: {}\n", escaped(outcome.asked.id), escaped(refusal.change),
                        escaped(refusal.missing));
  }
  return text;
}

}  // namespace

std::string whatif_validation_text(const std::vector<WhatIfOutcome>& outcomes) {
  Table table({{"case", Align::kLeft},
               {"before ms"},
               {"forecast"},
               {"band"},
               {"truth"},
               {"error"},
               {"", Align::kLeft}});
  std::string unanswered;
  for (const WhatIfOutcome& outcome : outcomes) {
    table.add(row_of_outcome(outcome));
    unanswered += no_forecast(outcome);
  }
  const WhatIfSummary summary = summarize(outcomes);
  std::string text = table.text();
  if (summary.n > 0) {
    text += fmt::format(
        "\n{} of {} forecast: error {:.2f} % in the mean, {:.2f} % at most; {:.0f} % of truths in "
        "the band\n",
        summary.n, summary.cases, 100 * summary.mean_abs_error, 100 * summary.max_abs_error,
        100 * summary.band_coverage);
  } else {
    text += "\nno case could be forecast\n";
  }
  if (!unanswered.empty()) text += "\nNo forecast\n" + unanswered;
  return text;
}

std::string whatif_validation_json(const std::vector<WhatIfOutcome>& outcomes) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
  write_summary_of(w, summarize(outcomes));
  w.begin_array("cases");
  for (const WhatIfOutcome& outcome : outcomes) write_outcome(w, outcome);
  w.end_array();
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
