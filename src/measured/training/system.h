// What a run says of its machine, as a line that describes a cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"

namespace flopcast::measured {

struct RunSystem {
  std::string gpu;  ///< "NVIDIA H100-SXM5-80GB"
  unsigned gpus = 0, per_node = 8;
  std::string network;         ///< between nodes, in words: "8x NDR IB 400Gb/s per node"
  double hbm_bytes_per_s = 0;  ///< 0: the chip's
  unsigned devices = 0;        ///< what its degrees multiply to; 0: not told
};

/// "16 x h100-sxm, nic.ports 4, nic.bandwidth 12.5GB/s". Error: no such chip.
Result<std::string> cluster_line(const RunSystem& system, const Catalog& catalog,
                                 std::vector<std::string>& assumed);

/// Ports of a node and bytes a second of one, each way, from words. ports 0: their number is not said ("100Gb/s
/// Ethernet", "PCIe-NIC: 500 GB/s"), whatever the rate.
struct NodePorts {
  unsigned ports = 0;
  double bytes_per_s = 0;
};
NodePorts parse_ports(std::string_view words, unsigned per_node);

}  // namespace flopcast::measured
