// Whatever a file of points holds: an error, or rows that can be shown and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "flopcast/report/explore.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rows = flopcast::read_explore_rows(text, "fuzz");
  if (!rows) return 0;
  std::string lines;
  for (const flopcast::ExploreRow& row : *rows) lines += flopcast::explore_json_line(row);
  const auto again = flopcast::read_explore_rows(lines, "again");
  flopcast::test::check(again && *again == *rows);
  (void)flopcast::explore_text(*rows);
  (void)flopcast::explore_csv(*rows);
  (void)flopcast::explore_html(*rows, "fuzz");
  return 0;
}
