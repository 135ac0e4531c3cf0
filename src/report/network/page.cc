#include "report/network/page.h"

#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast::report {

std::string network_page(std::string_view title, std::string_view json) {
  std::string page =
      page_of(web::network_html(), title, {web::page_js(), web::charts_js(), web::network_js()});
  fill(page, "{{data}}", without_tags(json));
  return page;
}

}  // namespace flopcast::report
