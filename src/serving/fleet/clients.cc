#include "serving/fleet/clients.h"

#include <algorithm>

namespace flopcast::serving {

Clients::Clients(const ServingWorkload& workload, const RequestList& list)
    : list_(list), closed_(workload.kind == ServingWorkload::Kind::kClosed) {
  const auto size = static_cast<std::uint32_t>(list.requests.size());
  if (!closed_) return;
  users_ = static_cast<std::uint32_t>(std::min<std::int64_t>(workload.users, size));
  warm_up_ = static_cast<std::uint32_t>(std::min<std::int64_t>(workload.warm_up, size));
  end_ = warm_up_ > 0 ? warm_up_ : size;
  send_all(Time{});
}

void Clients::send_all(Time at) {
  for (; in_flight_ < users_ && given_ < end_; ++in_flight_) sends_.emplace(at.ps, given_++);
}

Time Clients::next() const {
  if (closed_) return sends_.empty() ? Time::max() : Time{sends_.top().first};
  return given_ < list_.requests.size() ? list_.requests[given_].arrival : Time::max();
}

std::uint32_t Clients::take() {
  if (!closed_) return given_++;
  const std::uint32_t request = sends_.top().second;
  sends_.pop();
  return request;
}

bool Clients::freed(Time at) {
  if (!closed_) return false;
  --in_flight_;
  if (given_ < end_) {
    sends_.emplace(at.ps, given_++);
    ++in_flight_;
    return false;
  }
  if (in_flight_ > 0 || end_ == list_.requests.size()) return false;
  end_ = static_cast<std::uint32_t>(list_.requests.size());
  send_all(at);
  return true;
}

}  // namespace flopcast::serving
