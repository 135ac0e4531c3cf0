#include "report/network/page.h"

#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast::report {

std::string network_page(std::string_view title, std::string_view json) {
  std::string page(web::network_html());
  fill(page, "{{title}}", html_escaped(title));
  fill(page, "/*{{style}}*/", web::report_css());
  std::string script;
  for (const std::string_view part : {web::page_js(), web::charts_js(), web::network_js()}) {
    script += part;
    script += '\n';
  }
  fill(page, "/*{{script}}*/", script);
  fill(page, "{{data}}", without_tags(json));
  return page;
}

}  // namespace flopcast::report
