// Any bytes are requests in order of arrival or one error in words; a workload can be made of them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/serving/requests.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = parse_requests(text, "input");
  if (!read) {
    if (read.error().what.empty() || read.error().hint.empty()) __builtin_trap();
    return 0;
  }
  if (read->requests.empty() || read->requests.front().arrival != Time{}) __builtin_trap();
  Time before;
  for (const ServingRequest& request : read->requests) {
    if (request.arrival < before || request.input < 1 || request.output < 1) __builtin_trap();
    if (request.prefix_begin > request.prefix_end) __builtin_trap();
    if (request.prefix_end > read->prefixes.size()) __builtin_trap();
    if (request.prefix_end > request.prefix_begin && read->prefix_block < 1) __builtin_trap();
    before = request.arrival;
  }
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.count = static_cast<std::int64_t>(read->requests.size()) + 1;
  workload.trace = *read;
  if (const auto made = make_requests(workload)) {
    if (made->requests.size() != read->requests.size() + 1) __builtin_trap();
  }
  return 0;
}
