// The JSON of `whatif --json`. Its field names are a contract: docs/reference/json.md describes each.
#include "base/text/json_writer.h"

#include <utility>

#include "flopcast/version.h"
#include "report/whatif/json.h"
#include "report/whatif/words.h"

namespace flopcast {

namespace report {
namespace {

using Layout = JsonWriter::Layout;

void seconds_or_null(JsonWriter& w, std::string_view key, const std::optional<Time>& time) {
  if (time) {
    w.seconds(key, *time);
  } else {
    w.null(key);
  }
}

void write_refusals(JsonWriter& w, const WhatIfAnswer& answer) {
  w.begin_array("refused");
  for (const WhatIfRefusal& refusal : answer.refused) {
    w.begin_object({}, Layout::kLine);
    w.text("change", refusal.change);
    w.text("missing", refusal.missing);
    w.end_object();
  }
  w.end_array();
}

void write_band(JsonWriter& w, const WhatIfBand& band) {
  w.begin_object("band");
  w.seconds("low_s", band.low);
  w.seconds("high_s", band.high);
  w.begin_array("sources");
  for (const WhatIfBand::Source& source : band.sources) {
    w.begin_object({}, Layout::kLine);
    w.text("what", source.what);
    w.seconds("below_s", source.below);
    w.seconds("above_s", source.above);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_answer_steps(JsonWriter& w, const WhatIfAnswer& answer) {
  w.begin_array("steps");
  for (const WhatIfStep& step : answer.steps) {
    w.begin_object({}, Layout::kLine);
    w.text("name", step.name);
    w.seconds("gpu_before_s", step.before_gpu);
    w.seconds("gpu_after_s", step.after_gpu);
    w.seconds("host_before_s", step.before_host);
    w.seconds("host_after_s", step.after_host);
    w.end_object();
  }
  w.end_array();
}

void write_causes(JsonWriter& w, const WhatIfAnswer& answer) {
  w.begin_array("causes");
  for (const WhatIfCause& cause : answer.causes) {
    w.begin_object({}, Layout::kLine);
    w.text("change", cause.change);
    w.seconds("forwards_s", cause.forwards);
    seconds_or_null(w, "backwards_s", cause.backwards);
    w.end_object();
  }
  w.end_array();
}

void write_step_parts(JsonWriter& w, const WhatIfAnswer& answer) {
  w.begin_array("parts");
  for (const WhatIfPart& part : answer.parts) {
    w.begin_object({}, Layout::kLine);
    w.text("part", part.part);
    w.text("title", step_part_title(part.part));
    w.seconds("before_s", part.before);
    w.seconds("after_s", part.after);
    w.end_object();
  }
  w.end_array();
}

void write_notes(JsonWriter& w, const WhatIfAnswer& answer) {
  w.begin_array("notes");
  for (const WhatIfNote& note : answer.notes) {
    w.begin_object({}, Layout::kLine);
    w.text("how", note.how);
    w.text("what", note.what);
    w.count("tasks", note.tasks);
    w.ratio("share", note.share);
    w.end_object();
  }
  w.end_array();
}

void write_totals(JsonWriter& w, std::string_view key, const WhatIfTotals& totals) {
  w.begin_object(key);
  for (const TotalRow& row : total_rows()) w.ratio(row.name, totals.*row.value);
  w.text("basis", totals.basis);
  w.begin_array("missing");
  for (const WhatIfTotals::Missing& missing : totals.missing) {
    w.begin_object({}, Layout::kLine);
    w.text("total", missing.total);
    w.text("why", missing.why);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

}  // namespace

void write_whatif(JsonWriter& w, const WhatIfAnswer& answer) {
  w.begin_array("changes", Layout::kLine);
  for (const std::string& change : change_list(answer.changes)) w.text({}, change);
  w.end_array();
  write_refusals(w, answer);
  w.count("ranks_before", answer.ranks_before);
  w.count("ranks_after", answer.ranks_after);
  if (!answer.refused.empty()) return;
  w.seconds("before_s", answer.before);
  w.seconds("after_s", answer.after);
  w.seconds("host_before_s", answer.host_before);
  w.seconds("host_after_s", answer.host_after);
  write_band(w, answer.band);
  write_step_parts(w, answer);
  write_causes(w, answer);
  write_answer_steps(w, answer);
  write_notes(w, answer);
  w.text("caution", answer.caution);
  write_totals(w, "totals_before", answer.totals_before);
  write_totals(w, "totals", answer.totals);
}

void write_worth(JsonWriter& w, const WhatIfReport& report) {
  if (!report.sensitivity) return w.null("sensitivity");
  w.begin_array("sensitivity");
  for (const WhatIfSensitivity& part : *report.sensitivity) {
    w.begin_object({}, Layout::kLine);
    w.text("part", part.part);
    w.text("title", worth_title(part.part));
    w.seconds("work_s", part.work);
    seconds_or_null(w, "less_s", part.less);
    seconds_or_null(w, "limit_s", part.limit);
    w.text("caution", part.caution);
    w.end_object();
  }
  w.end_array();
}

}  // namespace report

using namespace report;  // the room's own names

std::string whatif_json(const WhatIfReport& report) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
  w.text("recording", report.recording);
  write_whatif(w, report.answer);
  write_worth(w, report);
  w.end_object();
  return std::move(w).take();
}

std::string question_json(const std::string& recording, const WhatIfQuestion& question) {
  JsonWriter w;
  w.begin_object({}, JsonWriter::Layout::kLine);
  w.text("id", question.id);
  w.text("recording", recording);
  if (question.failure) {
    w.text("failure", question.failure->text());
  } else {
    write_whatif(w, question.answer);
  }
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
