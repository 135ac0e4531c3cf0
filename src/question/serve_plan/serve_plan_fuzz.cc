// Any bytes are reports of searches for fleets or one error; reports that were read are written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/question/serve_plan.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reports = read_serve_plan_reports(text, "input");
  if (!reports) {
    test::check(!reports.error().what.empty() && !reports.error().hint.empty());
    return 0;
  }
  for (const ServePlanReport& report : *reports) {
    const std::string written = serve_plan_json(report);
    const auto again = read_serve_plan_reports(written, "again");
    test::check(again && again->size() == 1);
    test::check(serve_plan_json(again->front()) == written);
  }
  const auto merged = merge_serve_plans(*reports);
  test::check(!merged || reports->size() == reports->front().shards);
  return 0;
}
