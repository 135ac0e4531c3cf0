// Networks in other tools' formats. A file that does not say which chips it joins gives a chip without
// rates: the network works, forecasts of kernels ask for ", chip NAME".
#pragma once

#include <string>
#include <string_view>

#include "flopcast/hardware.h"

namespace flopcast::hardware {

/// ASTRA-sim analytical network: topology, npus_count, bandwidth, latency, one entry per dimension.
/// Bandwidth in GB/s of 2^30 bytes, of one link; latency in ns of one link, a switch takes two.
Result<Cluster> read_astra_network(std::string_view text, const std::string& name);

/// SimAI (ns-3) topology: "nodes gpus-per-server nv-switches other-switches links gpu-type", the
/// switches' ids, then one link a line: "from to 400Gbps 0.0005ms error-rate", both directions.
Result<Cluster> read_simai_topology(std::string_view text, const std::string& name,
                                    const Catalog& catalog);

/// NCCL_TOPO_DUMP_FILE: the inside of one node, copied `nodes` times. Network port p of every node
/// goes to rail switch p, rails are joined by a spine. What the file does not say (NVLink rates by
/// compute capability, links between CPUs) is as in NCCL 2.30.7 src/graph/topo.h.
Result<Cluster> read_nccl_topology(std::string_view text, const std::string& name, unsigned nodes,
                                   const Catalog& catalog);

/// Whether a text has the matrix that `nvidia-smi topo -m` prints.
bool is_smi_topology(std::string_view text);
/// That matrix: the inside of one node, copied `nodes` times as those of NCCL are. Rates are those of the chip that is
/// named: `chip`, or a line of `nvidia-smi -L` above; else of the generation that has as many links.
Result<Cluster> read_smi_topology(std::string_view text, const std::string& name, unsigned nodes,
                                  std::string_view chip, const Catalog& catalog);

/// The chip called `name`, or one without rates of that name.
Chip chip_or_blank(const Catalog& catalog, std::string_view name);

}  // namespace flopcast::hardware
