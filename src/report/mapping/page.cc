// web/mapping.html filled in: the page of `flopcast map`.
#include <fmt/format.h>

#include "flopcast/report/mapping.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string mapping_html(const MappingReport& report) {
  const DataflowGraph& graph = report.request.workload.graph;
  std::string page =
      page_of(web::mapping_html(), fmt::format("{} on {}", graph.name, report.request.system.name),
              {web::page_js(), web::charts_js(), web::mapping_pieces_js(), web::mapping_js()});
  fill(page, "{{graph}}", dataflow_svg(graph, kernel_partitions(report)));
  fill(page, "{{data}}", without_tags(mapping_json(report)));
  return page;
}

}  // namespace flopcast
