#include "report/render/page_template.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace flopcast::report
