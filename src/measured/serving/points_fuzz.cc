// Any bytes are measured points or one error; every point has a layout, and rules name what they exclude.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/measured/serving.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto points = parse_serving_points(text, "input");
  if (!points) {
    test::check(!points.error().what.empty() && !points.error().hint.empty());
    return 0;
  }
  test::check(!points->empty());
  label_defects(*points);
  for (const ServingPoint& point : *points) {
    test::check(!point.id.empty() && point.input > 0 && point.output > 0);
    const ServingLayout& layout = point.layout;
    test::check(layout.tp != 0 && layout.dp != 0 && layout.ep != 0 && layout.pp != 0);
    test::check(point.excluded.empty() ||
                std::ranges::find(serving_rules(), point.excluded, &ServingRule::name) !=
                    serving_rules().end());
  }
  return 0;
}
