#include "report/render/page_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <numeric>

#include "web_assets.h"

namespace flopcast::report {
namespace {

/// Replaces the first `mark` of the page.
void fill(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

/// JSON that no text in it can end the script element of: "<" stands in strings only.
void append_without_tags(std::string& to, std::string_view json) {
  for (const char c : json) {
    if (c == '<') {
      to += "\\u003c";
    } else {
      to += c;
    }
  }
}

std::string elements_of(const std::vector<Page::Document>& documents) {
  std::string all;
  all.reserve(std::accumulate(
      documents.begin(), documents.end(), std::size_t{0},
      [](std::size_t sum, const Page::Document& d) { return sum + d.json.size() + 100; }));
  for (const Page::Document& document : documents) {
    all += fmt::format("<script type=\"application/json\" id=\"{}\">", document.id);
    append_without_tags(all, document.json);
    all += "</script>\n";
  }
  return all;
}

/// The name that a line "export function name(" declares.
std::string_view exported_name(std::string_view line) {
  static constexpr std::array<std::string_view, 4> kWords = {"async ", "function ", "const ",
                                                             "class "};
  for (const std::string_view word : kWords) {
    if (line.starts_with(word)) line.remove_prefix(word.size());
  }
  return line.substr(0, line.find_first_of(" (={"));
}

}  // namespace

std::string module_scope(std::string_view script) {
  constexpr std::string_view kImport = "import ", kExport = "export ";
  std::vector<std::string_view> names;
  std::string body;
  while (!script.empty()) {
    // An import may take several lines; everything else is seen line by line.
    const std::size_t end = script.find(script.starts_with(kImport) ? ";\n" : "\n");
    const std::size_t length =
        end == std::string_view::npos ? script.size() : end + (script.starts_with(kImport) ? 2 : 1);
    std::string_view line = script.substr(0, length);
    script.remove_prefix(length);
    if (line.starts_with(kImport)) continue;
    if (line.starts_with(kExport)) {
      line.remove_prefix(kExport.size());
      names.push_back(exported_name(line));
    }
    body += line;
  }
  if (names.empty()) return fmt::format("(() => {{\n{}}})();\n", body);
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("const {{ {0} }} = (() => {{\n{1}return {{ {0} }};\n}})();\n", list, body);
}

std::string html_of(const Page& page) {
  std::string scripts;
  for (const std::string_view script : page.scripts) scripts += module_scope(script);
  std::string html(web::page_html());
  fill(html, "{{title}}", html_escaped(page.title));
  fill(html, "{{kind}}", page.kind);
  fill(html, "/*{{style}}*/", web::report_css());
  fill(html, "/*{{script}}*/", scripts);
  fill(html, "{{drawn}}", page.drawn);
  // Last, so that nothing in the data is taken for a mark.
  fill(html, "{{documents}}", elements_of(page.documents));
  return html;
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
