// A machine of a run whose engine is on another one.
#include <fmt/format.h>

#include <numeric>

#include "flopcast/live.h"
#include "live/host_processes.h"
#include "live/hosts/agent.h"
#include "live/machine_group.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

/// Until the engine says that the run is over.
EndOfRun drive(Agent& agent, HostProcesses& processes, const LiveObserver& observer) {
  bool told_stop = false;
  for (;;) {
    agent.step();
    for (const Ending& ending : processes.ended())
      agent.tell_ending(ending.process, ending.status,
                        processes.outputs().last_line(ending.process));
    if (!told_stop && observer.stop && observer.stop()) {
      told_stop = true;
      agent.tell_stopped();
    }
    if (auto end = agent.end()) return *end;
  }
}

}  // namespace

std::optional<Diagnostic> join_live(const LiveRequest& request, const Catalog& catalog,
                                    const LiveObserver& observer) {
  const Result<Cluster> cluster = catalog.cluster(request.cluster);
  if (!cluster) return cluster.error();
  const Result<Layout> layout = layout_of(request, *cluster);
  if (!layout) return layout.error();
  const Result<MachineGroup> group = group_of(request, *layout);
  if (!group) return group.error();
  Result<std::unique_ptr<Agent>> agent = Agent::join(*group, observer.stop);
  if (!agent) return agent.error();
  const Folding folding;
  std::vector<std::int32_t> ranks(layout->ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  HostProcesses processes(request, *layout, folding, ranks);
  const Neighbourhood neighbours{group->place.host, (*agent)->port(), (*agent)->interface()};
  if (auto problem = processes.start((*agent)->name(), neighbours, observer.stop)) return problem;
  const EndOfRun end = drive(**agent, processes, observer);
  processes.end_all();
  processes.outputs().finish();
  (*agent)->leave(processes.remarks().unsupported());
  if (end.well) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, "the run has ended", end.why,
                    "the first machine has the rest"};
}

}  // namespace flopcast
