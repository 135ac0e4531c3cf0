// The page of `flopcast map`.
#include <fmt/format.h>

#include "flopcast/report/mapping.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string mapping_html(const MappingReport& report) {
  const DataflowGraph& graph = report.request.workload.graph;
  return html_of({.title = fmt::format("{} on {}", graph.name, report.request.system.name),
                  .kind = "map",
                  .scripts = {web::numbers_js(), web::page_js(), web::colours_js(),
                              web::charts_js(), web::sortable_js(), web::mapping_js()},
                  .documents = {{"data", mapping_json(report)}},
                  .drawn = fmt::format("<div id=\"graph\" class=\"scroll\">\n{}</div>",
                                       dataflow_svg(graph, kernel_partitions(report)))});
}

}  // namespace flopcast
