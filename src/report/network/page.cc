#include "report/network/page.h"

#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast::report {

std::string network_page(std::string_view title, std::string_view json) {
  return html_of(
      {.title = std::string(title),
       .kind = "network",
       .scripts = {web::numbers_js(), web::page_js(), web::colours_js(), web::canvas_js(),
                   web::charts_js(), web::sortable_js(), web::network_js()},
       .documents = {{"data", std::string(json)}}});
}

}  // namespace flopcast::report
