// Any bytes are limits on percentiles or one error; limits are written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/serving/search.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const auto limits = parse_service_limits({reinterpret_cast<const char*>(data), size});
  if (!limits) {
    test::check(!limits.error().what.empty() && !limits.error().hint.empty());
    return 0;
  }
  for (const ServiceLimit& limit : *limits) {
    test::check(limit.below.value > 0 && limit.percentile >= 0 && limit.percentile <= 100);
    const auto again = parse_service_limits(name(limit));
    test::check(again && again->size() == 1 && again->front().quantity == limit.quantity &&
                again->front().percentile == limit.percentile);
  }
  return 0;
}
