#include "base/text/csv_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text/names.h"
#include "support/gzip.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"

namespace flopcast {
namespace {

CsvTable parsed(const char* text) {
  Result<CsvTable> table = CsvTable::parse(text, "t.csv");
  EXPECT_TRUE(table.ok());
  return std::move(*table);
}

TEST(CsvTable, ReadsFieldsBelowTheHeaderAndSkipsComments) {
  const CsvTable table = parsed("# origin\nm,n, latency\r\n1,2,0.5\n\n3,4,7e-1\n");
  ASSERT_EQ(table.rows(), 2U);
  EXPECT_EQ(*table.column("latency"), 2U);
  EXPECT_EQ(table.text(1, 0), "3");
  EXPECT_DOUBLE_EQ(*table.number(1, 2), 0.7);
  EXPECT_EQ(table.place(1), "t.csv:5");
}

TEST(CsvTable, TakesQuotesOff) {
  const CsvTable table = parsed("a,b,c\n\"x, y\",\"say \"\"so\"\"\",\n");
  ASSERT_EQ(table.rows(), 1U);
  EXPECT_EQ(table.text(0, 0), "x, y");
  EXPECT_EQ(table.text(0, 1), "say \"so\"");
  EXPECT_EQ(table.text(0, 2), "");
}

TEST(CsvTable, CountsRowsOfAnotherLengthAndKeepsTheRest) {
  const CsvTable table = parsed("a,b\n1\n2,3\n4,5,6\n");
  EXPECT_EQ(table.rows(), 1U);
  EXPECT_EQ(table.anomalies().count("csv_field_count"), 2U);
  EXPECT_EQ(table.anomalies().list()[0].first, "t.csv:2: 1 fields, the header has 2");
}

TEST(CsvTable, NamesTheColumnAndThePlaceOfAMistake) {
  const CsvTable table = parsed("a,b\n1,oops\n2,inf\n");
  EXPECT_EQ(table.column("c").error().what, "expected a column 'c', found a,b");
  EXPECT_EQ(table.number(0, 1).error().where, "t.csv:2");
  EXPECT_FALSE(table.number(1, 1).ok());
  EXPECT_FALSE(CsvTable::parse("# nothing\n", "t.csv").ok());
}

TEST(CsvTable, ReadsGzip) {
  const test::TemporaryFolder folder;
  const std::string text = test::read_text(test::data_path("collectives.csv"));
  const Result<CsvTable> table = CsvTable::read(folder.write("packed.csv.gz", test::packed(text)));
  ASSERT_TRUE(table.ok());
  EXPECT_GT(table->rows(), 4000U);
  EXPECT_TRUE(table->anomalies().empty());
  EXPECT_FALSE(CsvTable::read(folder / "absent.csv").ok());
}

RC_GTEST_PROP(CsvTable, WhatIsQuotedIsReadBack, (std::string field)) {
  // Line ends inside quotes are not read, and blanks at the ends only with quotes.
  std::erase_if(field, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
  const std::string quoted = csv_field(field);
  const auto table = CsvTable::parse("a,b\n" + quoted + ",end\n", "t.csv");
  RC_ASSERT(table.ok());
  RC_PRE(table->rows() == 1u);  // a comment is no row
  RC_ASSERT(table->text(0, 1) == "end");
  RC_ASSERT(table->text(0, 0) == (quoted == field ? trim(field) : std::string_view(field)));
}

}  // namespace
}  // namespace flopcast
