#include "live/engine/host/costs.h"

#include <algorithm>
#include <cmath>

namespace flopcast::live {
namespace {

constexpr std::pair<HostCost, Act> kCalls[] = {
    {HostCost::kLaunch, Act::kKernel},
    {HostCost::kLaunch, Act::kGraphLaunch},
    {HostCost::kCopy, Act::kCopy},
    {HostCost::kFill, Act::kFill},
    {HostCost::kRecordEvent, Act::kRecordEvent},
    {HostCost::kWaitEvent, Act::kStreamWaitsEvent},
    {HostCost::kSynchronize, Act::kWaitEvent},
    {HostCost::kSynchronize, Act::kWaitStream},
    {HostCost::kSynchronize, Act::kWaitDevice},
    {HostCost::kQuery, Act::kAskEvent},
    {HostCost::kQuery, Act::kAskStream},
    {HostCost::kAllocate, Act::kAllocate},
    {HostCost::kFree, Act::kFree},
};

std::uint32_t whole_ns(double ns) { return static_cast<std::uint32_t>(std::lround(ns)); }
Time time_of(double ns) { return Time::from_ns(std::llround(ns)); }

}  // namespace

HostCosts host_costs(const HostTable& table) {
  HostCosts costs;
  for (const auto& [cost, act] : kCalls)
    costs.call[static_cast<std::size_t>(act)] = whole_ns(table.at(cost));
  costs.call[static_cast<std::size_t>(Act::kCollective)] =
      whole_ns(table.at(HostCost::kLaunch) + table.at(HostCost::kOutside));
  costs.per_operator = whole_ns(table.at(HostCost::kOperator));
  costs.outside = whole_ns(table.at(HostCost::kOutside));
  return costs;
}

HostTimes host_times(const HostTable& table) {
  HostTimes times;
  times.launch = time_of(table.at(HostCost::kLaunchLatency));
  times.wake = time_of(table.at(HostCost::kWake));
  return times;
}

}  // namespace flopcast::live
