#include "trace/write/launch_rows.h"

#include <algorithm>
#include <compare>

namespace flopcast::trace {
namespace {

struct Call {
  std::int64_t correlation;
  std::uint32_t row = 0;
  auto operator<=>(const Call&) const = default;
};

}  // namespace

std::vector<std::uint32_t> launch_rows(const Events& events) {
  std::vector<Call> calls;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (!is_host_call(events.category[row]) || events.correlation[row] == kNoId) continue;
    calls.push_back({events.correlation[row], row});
  }
  std::sort(calls.begin(), calls.end());
  std::vector<std::uint32_t> launches(events.size(), kNoDetail);
  for (std::size_t row = 0; row < events.size(); ++row) {
    if (!is_gpu_work(events.category[row]) || events.correlation[row] == kNoId) continue;
    const auto call = std::lower_bound(calls.begin(), calls.end(), Call{events.correlation[row]});
    if (call != calls.end() && call->correlation == events.correlation[row]) {
      launches[row] = call->row;
    }
  }
  return launches;
}

}  // namespace flopcast::trace
