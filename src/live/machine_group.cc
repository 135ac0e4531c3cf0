#include "live/machine_group.h"

#include <fmt/format.h>

#include "base/numeric/hash.h"
#include "flopcast/version.h"

namespace flopcast::live {
namespace {

/// What has to be the same on all machines, in one number. Where Python and the stand-ins lie is each machine's own.
std::uint64_t words_of(const LiveRequest& request, Layout layout) {
  Hash hash;
  hash.add(kVersion);
  hash.add(request.cluster);
  for (const std::uint64_t each :
       {std::uint64_t{layout.ranks}, std::uint64_t{layout.nodes}, std::uint64_t{request.launches},
        std::uint64_t{request.fork_server.empty()}, std::uint64_t{request.torch_plugin.empty()}})
    hash.add(std::to_string(each));
  hash.add(fmt::format("{}", request.host_factor));
  for (const auto& [name, value] : request.environment) hash.add(name + '=' + value);
  for (std::size_t i = request.launches ? 0 : 1; i < request.command.size(); ++i)
    hash.add(request.command[i]);
  return hash.value();
}

}  // namespace

Result<MachineGroup> group_of(const LiveRequest& request, Layout layout) {
  const LiveMachines& machines = request.machines;
  const Result<MeetingPlace> place = meeting_place_of(machines.meet);
  if (!place) return place.error();
  if (machines.count > Machines::kMost || machines.own >= machines.count) {
    return usage_error("--hosts",
                       fmt::format("machine {} of {}: a run has {} machines at most, from 0",
                                   machines.own, machines.count, Machines::kMost),
                       "--host-number is 0 on the first and less than --hosts on the last");
  }
  constexpr std::size_t kLeastToken = 8, kMostToken = sizeof JoinFrame::token - 1;
  if (machines.token.size() < kLeastToken || machines.token.size() > kMostToken) {
    return usage_error("FLOPCAST_TOKEN",
                       fmt::format("is {} characters long", machines.token.size()),
                       fmt::format("set the same secret of {} to {} characters on all machines",
                                   kLeastToken, kMostToken));
  }
  if (request.fold != Fold::kOff) {
    return usage_error("--fold", "is not carried between machines: --hosts is for whole runs",
                       "leave one of the two out");
  }
  return MachineGroup{*place, machines.token, machines.own, machines.count,
                      words_of(request, layout)};
}

}  // namespace flopcast::live
