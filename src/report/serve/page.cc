// The page of `flopcast serve`.
#include <utility>

#include "base/text/json_writer.h"
#include "flopcast/report/serve.h"
#include "report/render/page_template.h"
#include "report/serve/json.h"
#include "report/serve/words.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string serve_html(const ServeAnswer& answer) {
  JsonWriter w;
  w.begin_object();
  w.text("title", serve_title(answer.question));
  w.text("slo", answer.question.slo);
  w.begin_array("slo_limits");
  for (const ServiceLimit& limit : answer.question.limits) {
    w.begin_object({}, JsonWriter::Layout::kLine);
    w.text("name", name(limit));
    w.exact("below_s", limit.below.value);
    w.end_object();
  }
  w.end_array();
  write_serve_answer(w, answer);
  w.end_object();
  return html_of(
      {.title = serve_title(answer.question),
       .kind = "serve",
       .scripts = {web::numbers_js(), web::page_js(), web::colours_js(), web::bars_js(),
                   web::canvas_js(), web::charts_js(), web::sortable_js(), web::serving_js()},
       .documents = {{"data", std::move(w).take()}}});
}

}  // namespace flopcast
