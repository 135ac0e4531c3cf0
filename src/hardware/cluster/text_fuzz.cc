// Any bytes as a one-line cluster.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/cluster/testing.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  using namespace flopcast::hardware;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cluster(Catalog::builtin().cluster(text));
  return 0;
}
