// The page of a what-if: the answer's numbers, and one step of both runs.
#include <utility>

#include "base/text/json_writer.h"
#include "base/text/utf8.h"
#include "flopcast/version.h"
#include "report/render/page_template.h"
#include "report/whatif/json.h"
#include "report/whatif/page_runs.h"
#include "report/whatif/words.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// The fields of whatif_json, and what the page says in words.
std::string answer_document(const WhatIfReport& report) {
  const JudgedStep step = judged_step(report.answer);
  JsonWriter w;
  w.begin_object();
  w.text("recording", report.recording);
  w.text("asked", changes_line(report.answer.changes));
  w.text("step_kind", step.kind);
  w.text("change", change_words(step.before, step.after));
  write_whatif(w, report.answer);
  write_worth(w, report);
  w.end_object();
  return std::move(w).take();
}

}  // namespace

std::string whatif_html(const WhatIfReport& report,
                        const std::optional<std::pair<WhatIfRun, WhatIfRun>>& runs) {
  constexpr std::string_view kNoRuns = R"({"length_ns": 0, "ranks": [], "names": [],
    "path": {"classes": [], "pieces": ""}, "path_titles": {}})";
  return html_of(
      {.title = report.recording,
       .kind = "what-if",
       .scripts = {web::numbers_js(), web::page_js(), web::colours_js(), web::bars_js(),
                   web::canvas_js(), web::sortable_js(), web::decode_js(), web::lanes_js(),
                   web::timeline_js(), web::whatif_js()},
       .documents = {{"rows", runs ? drawn_runs(*runs, report.answer) : std::string(kNoRuns)},
                     {"answer", answer_document(report)}}});
}

}  // namespace flopcast
