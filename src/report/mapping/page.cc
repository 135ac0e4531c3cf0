// web/mapping.html filled in: the page of `flopcast map`.
#include <fmt/format.h>

#include "flopcast/report/mapping.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string mapping_html(const MappingReport& report) {
  std::string page(web::mapping_html());
  const DataflowGraph& graph = report.request.workload.graph;
  fill(page, "{{title}}",
       html_escaped(fmt::format("{} on {}", graph.name, report.request.system.name)));
  fill(page, "/*{{style}}*/", web::report_css());
  std::string script;
  for (const std::string_view part :
       {web::page_js(), web::charts_js(), web::mapping_pieces_js(), web::mapping_js()}) {
    script += part;
    script += '\n';
  }
  fill(page, "/*{{script}}*/", script);
  fill(page, "{{graph}}", dataflow_svg(graph, kernel_partitions(report)));
  fill(page, "{{data}}", without_tags(mapping_json(report)));
  return page;
}

}  // namespace flopcast
