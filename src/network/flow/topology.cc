#include "flopcast/network.h"
#include "flopcast/network/flows.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

std::vector<Rate> capacities(const Topology& topology) {
  std::vector<Rate> list;
  list.reserve(topology.links().size());
  for (const Topology::LinkInfo& link : topology.links()) list.push_back(link.capacity);
  return list;
}

}  // namespace

FlowSimulator::FlowSimulator(const Topology& topology, const Options& options)
    : FlowSimulator(capacities(topology), options) {}

}  // namespace flopcast
