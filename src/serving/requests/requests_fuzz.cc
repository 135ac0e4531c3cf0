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
    test::check(!read.error().what.empty() && !read.error().hint.empty());
    return 0;
  }
  test::check(!read->requests.empty() && read->requests.front().arrival == Time{});
  Time before;
  for (const ServingRequest& request : read->requests) {
    test::check(request.arrival >= before && request.input >= 1 && request.output >= 1);
    test::check(request.prefix_begin <= request.prefix_end);
    test::check(request.prefix_end <= read->prefixes.size());
    test::check(request.prefix_end <= request.prefix_begin || read->prefix_block >= 1);
    before = request.arrival;
  }
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.count = static_cast<std::int64_t>(read->requests.size()) + 1;
  workload.trace = *read;
  if (const auto made = make_requests(workload)) {
    test::check(made->requests.size() == read->requests.size() + 1);
  }
  return 0;
}
