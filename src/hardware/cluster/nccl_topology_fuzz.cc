// Any bytes as an NCCL topology, alone and as three nodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/cluster/network_readers.h"
#include "hardware/cluster/testing.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  using namespace flopcast::hardware;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cluster(read_nccl_topology(text, "fuzz.xml", 1, Catalog::builtin()));
  check_cluster(read_nccl_topology(text, "fuzz.xml", 3, Catalog::builtin()));
  return 0;
}
