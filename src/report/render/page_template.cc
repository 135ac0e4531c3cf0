#include "report/render/page_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <numeric>

#include "base/text/json_writer.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/page.h"
#include "flopcast/version.h"
#include "web_assets.h"

namespace flopcast::report {
namespace {

/// Replaces the first `mark` of the page.
void fill(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

/// "\u001b" at the front of a JSON string's text: a control character that a page would have as one.
bool is_control_escape(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return false;
  const std::string_view hex = text.substr(2, 4);
  return hex == "007f" || (hex.starts_with("00") && (hex[2] == '0' || hex[2] == '1'));
}

/// JSON that no text in it can end the script element of, or bring control characters into the page by: both stand in
/// strings only. Pages show "\u001b" where terminals do.
void append_harmless(std::string& to, std::string_view json) {
  while (!json.empty()) {
    const auto stop = std::find_if(json.begin(), json.end(), [](char c) {
      return c == '<' || c == '\\' || static_cast<unsigned char>(c) >= 0x80;
    });
    const auto plain = static_cast<std::size_t>(stop - json.begin());
    to += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) return;
    std::size_t taken = 1;
    if (json[0] == '<') {
      to += "\\u003c";
    } else if (json[0] == '\\') {
      taken = std::min<std::size_t>(json.size(), 2);
      if (is_control_escape(json)) to += '\\';
      to += json.substr(0, taken);
    } else {
      taken = std::max<std::size_t>(utf8_length(json), 1);
      const std::string shown = escaped(json.substr(0, taken));
      if (shown.starts_with('\\')) to += '\\';
      to += shown;
    }
    json.remove_prefix(taken);
  }
}

std::string elements_of(const std::vector<Page::Document>& documents) {
  std::string all;
  all.reserve(std::accumulate(
      documents.begin(), documents.end(), std::size_t{0},
      [](std::size_t sum, const Page::Document& d) { return sum + d.json.size() + 100; }));
  for (const Page::Document& document : documents) {
    all += fmt::format("<script type=\"application/json\" id=\"{}\">", document.id);
    append_harmless(all, document.json);
    all += "</script>\n";
  }
  return all;
}

constexpr std::string_view kOriginStart = "<script type=\"application/json\" id=\"origin\">";
constexpr std::string_view kOriginEnd = "</script>\n";

std::string origin_element(const PageOrigin& origin) {
  JsonWriter w;
  w.begin_object({}, JsonWriter::Layout::kLine);
  w.text("flopcast", kVersion);
  w.text("command", origin.command);
  w.text("date", origin.date);
  w.begin_array("inputs");
  for (const std::string& input : origin.inputs) w.text({}, input);
  w.end_array();
  w.end_object();
  std::string element(kOriginStart);
  append_harmless(element, std::move(w).take());
  return element + std::string(kOriginEnd);
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
  // Of what the others put on the page.
  if (!page.scripts.empty()) scripts += module_scope(web::origin_js());
  std::string html(web::page_html());
  fill(html, "{{title}}", html_escaped(page.title));
  fill(html, "{{kind}}", page.kind);
  fill(html, "/*{{style}}*/", web::report_css());
  fill(html, "/*{{script}}*/", scripts);
  fill(html, "{{drawn}}", page.drawn);
  // Last, so that nothing in the data is taken for a mark; the origin first, where with_origin looks for it.
  fill(html, "{{documents}}", origin_element({}) + elements_of(page.documents));
  return html;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '{') {
      out += "&#123;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace flopcast::report

namespace flopcast {

std::string page_date() {
  using std::chrono::system_clock;
  system_clock::time_point now = system_clock::now();
  if (const char* told = std::getenv("SOURCE_DATE_EPOCH")) {
    constexpr std::int64_t kMost = std::int64_t{1} << 33;  // year 2242
    const auto since = parse_whole<std::int64_t>(told);
    if (since && *since >= 0 && *since < kMost) {
      now = system_clock::time_point(std::chrono::seconds(*since));
    }
  }
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(now));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

std::string with_origin(std::string page, const PageOrigin& origin) {
  const std::size_t from = page.find(report::kOriginStart);
  if (from == std::string::npos) return page;
  const std::size_t to = page.find(report::kOriginEnd, from) + report::kOriginEnd.size();
  return page.replace(from, to - from, report::origin_element(origin));
}

}  // namespace flopcast
