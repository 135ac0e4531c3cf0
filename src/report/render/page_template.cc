#include "report/render/page_template.h"

#include "web_assets.h"

namespace flopcast::report {

std::string page_of(std::string_view html, std::string_view title,
                    std::initializer_list<std::string_view> scripts) {
  std::string page(html);
  fill(page, "{{title}}", html_escaped(title));
  fill(page, "/*{{style}}*/", web::report_css());
  std::string all;
  for (const std::string_view script : scripts) {
    all += script;
    all += '\n';
  }
  fill(page, "/*{{script}}*/", all);
  return page;
}

void fill(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

std::string without_tags(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '{') {
      out += "&#123;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace flopcast::report
