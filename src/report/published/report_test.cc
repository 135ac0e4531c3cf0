#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "flopcast/report/published.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(PublishedReport, PaperTablesHaveALineForEachCellAndAsManyColumnsAsTitles) {
  std::vector<PaperCell> cells = *paper_figure_cells("4a");
  cells[0].c.system.name = "a \"small\", old one";
  const auto results = paper_study(cells);
  ASSERT_TRUE(results.ok());
  const std::string csv = paper_searches_csv({cells, *results, true});
  EXPECT_EQ(std::ranges::count(csv, '\n'), 14);
  EXPECT_THAT(csv, HasSubstr("gpt3_1T,1d,\"a \"\"small\"\", old one\",4,192000000000"));
  EXPECT_THAT(csv, HasSubstr("gpt3_1T,1d,B200-NVS8,16384,"));
  const auto columns = [&](std::size_t line) {
    std::size_t from = 0;
    for (; line > 0; --line) from = csv.find('\n', from) + 1;
    return std::count(csv.begin() + static_cast<std::ptrdiff_t>(from),
                      csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\n', from)), ',');
  };
  EXPECT_EQ(columns(2), columns(0));   // nothing found on 8
  EXPECT_EQ(columns(13), columns(0));  // 16384
}

}  // namespace
}  // namespace flopcast
