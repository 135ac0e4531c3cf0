#include "report/render/page_template.h"

#include <gtest/gtest.h>

#include "base/text/json_writer.h"
#include "flopcast/report/page.h"
#include "flopcast/version.h"

namespace flopcast::report {
namespace {

TEST(PageTemplate, AModuleShowsWhatItExportsAndNothingElse) {
  EXPECT_EQ(module_scope("import { a } from \"./a.js\";\n"
                         "import {\n  b,\n  c,\n} from \"./b.js\";\n"
                         "/** Half of it. */\n"
                         "export const half = (x) => x / a;\n"
                         "export function twice(x) {\n  return own(x);\n}\n"
                         "export class Thing {}\n"
                         "const own = (x) => x * b;\n"),
            "const { half, twice, Thing } = (() => {\n"
            "/** Half of it. */\n"
            "const half = (x) => x / a;\n"
            "function twice(x) {\n  return own(x);\n}\n"
            "class Thing {}\n"
            "const own = (x) => x * b;\n"
            "return { half, twice, Thing };\n"
            "})();\n");
}

TEST(PageTemplate, AModuleWithoutExportsIsRun) {
  EXPECT_EQ(module_scope("import { show } from \"./page.js\";\nshow();"),
            "(() => {\nshow();})();\n");
}

TEST(PageTemplate, DataIsTakenForNeitherMarksNorTags) {
  const std::string page = html_of({.title = "a <b> {{kind}}",
                                    .kind = "plan",
                                    .scripts = {},
                                    .documents = {{"data", R"({"name": "</script>{{drawn}}"})"}},
                                    .drawn = "<p>drawn</p>"});
  EXPECT_NE(page.find("<title>a &lt;b> &#123;&#123;kind}} · Flopcast plan</title>"),
            std::string::npos);
  EXPECT_NE(page.find(R"(id="data">{"name": "\u003c/script>{{drawn}}"}</script>)"),
            std::string::npos);
  EXPECT_NE(page.find("<p>drawn</p>"), std::string::npos);
  EXPECT_EQ(page.find("{{documents}}"), std::string::npos);
}

/// Every control character, C1, a turn of direction, a separator, no character, and bytes that are no UTF-8.
std::string every_control() {
  std::string text;
  for (int c = 0; c < 0x20; ++c) text += static_cast<char>(c);
  text +=
      "\x7f\xc2\x80\xc2\x85\xc2\x9f\u202e\u2066\u2028\ufeff\xef\xbf\xbe\xef\xbf\xbf\xff\xc0\xaf";
  return text;
}

bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7f) return true;
    const std::string_view rest = text.substr(i);
    for (const std::string_view wide : {"\xc2\x80", "\xc2\x85", "\xc2\x9f", "\u202e", "\u2066",
                                        "\u2028", "\ufeff", "\xef\xbf\xbe", "\xef\xbf\xbf"}) {
      if (rest.starts_with(wide)) return true;
    }
    if (c == 0xff || c == 0xc0) return true;
  }
  return false;
}

TEST(PageTemplate, NoControlCharacterOfANameComesIntoAPage) {
  std::string json;
  append_json_string(json, every_control());
  EXPECT_TRUE(has_control(json));  // JSON itself lets C1 and others stand
  const std::string page = html_of({.title = every_control(),
                                    .kind = "plan",
                                    .scripts = {},
                                    .documents = {{"data", "{\"name\": " + json + "}"}},
                                    .drawn = html_escaped(every_control())});
  const std::size_t at = page.find("id=\"data\">") + 10;
  const std::string_view document =
      std::string_view(page).substr(at, page.find("</script>", at) - at);
  EXPECT_FALSE(has_control(document)) << document;
  EXPECT_NE(document.find("\\\\u001b"), std::string_view::npos);  // shown as a terminal shows it
  EXPECT_NE(document.find("\\\\u202e"), std::string_view::npos);
  EXPECT_NE(document.find("\\n"), std::string_view::npos);
  EXPECT_FALSE(has_control(html_escaped(every_control())));
  EXPECT_EQ(html_escaped("\x1b<\"&{"), "\\u001b&lt;&quot;&amp;&#123;");
}

TEST(PageTemplate, TellsHowAPageCameAbout) {
  const std::string page = html_of(
      {.title = "t", .kind = "plan", .scripts = {}, .documents = {{"data", R"({"a": 1})"}}});
  const std::string told = with_origin(
      page,
      {.command = "flopcast plan '</script>'", .inputs = {"a\x1b.toml"}, .date = "2026-01-31"});
  const std::size_t at = told.find("id=\"origin\">") + 12;
  const std::string_view origin =
      std::string_view(told).substr(at, told.find("</script>", at) - at);
  EXPECT_NE(origin.find("\"command\": \"flopcast plan '\\u003c/script>'\""), std::string_view::npos)
      << origin;
  EXPECT_NE(origin.find(kVersion), std::string_view::npos);
  EXPECT_NE(origin.find("2026-01-31"), std::string_view::npos);
  EXPECT_FALSE(has_control(origin));
  EXPECT_NE(told.find(R"({"a": 1})"), std::string::npos);
  // Twice is the same as once, and what is no page stays as it is.
  EXPECT_EQ(with_origin(told, {}), page);
  EXPECT_EQ(with_origin("text", {}), "text");
}

TEST(PageTemplate, WhatLooksLikeAnEscapeStaysWhatItIs) {
  const std::string page =
      html_of({.title = "t",
               .kind = "plan",
               .scripts = {},
               .documents = {{"data", R"({"a": "\\u001b", "b": "\u00e9\u0041ü·"})"}}});
  EXPECT_NE(page.find(R"({"a": "\\u001b", "b": "\u00e9\u0041ü·"})"), std::string::npos);
}

}  // namespace
}  // namespace flopcast::report
