// Any bytes as the matrix of nvidia-smi, alone and as three nodes.
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
  static_cast<void>(is_smi_topology(text));
  check_cluster(read_smi_topology(text, "fuzz.txt", 1, "h100", Catalog::builtin()));
  check_cluster(read_smi_topology(text, "fuzz.txt", 3, "", Catalog::builtin()));
  return 0;
}
