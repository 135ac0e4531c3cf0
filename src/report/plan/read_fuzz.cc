// Whatever a file of results holds: an error, or reports that can be merged, shown and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/report/plan.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reports = flopcast::read_plan_reports(text, "fuzz");
  if (!reports) return 0;
  std::string lines;
  for (const flopcast::PlanReport& report : *reports) {
    lines += flopcast::plan_json_line(report);
    (void)flopcast::plan_text(report);
  }
  const auto again = flopcast::read_plan_reports(lines, "again");
  flopcast::test::check(again && again->size() == reports->size());
  std::string same;
  for (const flopcast::PlanReport& report : *again) same += flopcast::plan_json_line(report);
  flopcast::test::check(same == lines);
  (void)flopcast::plans_text(*reports);
  (void)flopcast::plans_csv(*reports);
  (void)flopcast::merge_all_plans(*reports);
  return 0;
}
