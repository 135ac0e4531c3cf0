// Any bytes as an ASTRA-sim network file.
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
  check_cluster(read_astra_network(text, "fuzz.yml"));
  return 0;
}
