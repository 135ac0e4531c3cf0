// Any bytes are a timeline of requests or one error that names a line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/measured/serving.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto timeline = parse_serving_timeline(text, "input");
  if (!timeline) {
    test::check(timeline.error().where.starts_with("input:"));
    return 0;
  }
  const std::size_t n = timeline->requests.requests.size();
  test::check(n != 0 && timeline->ttft.size() == n && timeline->latency.size() == n);
  for (std::size_t i = 0; i < n; ++i) {
    test::check(timeline->ttft[i] <= timeline->latency[i] && timeline->tpot[i].ps >= 0);
  }
  return 0;
}
