// Any bytes as a one-line cluster.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/cluster/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flopcast;
  using namespace flopcast::hardware;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cluster(Catalog::builtin().cluster(text));
  return 0;
}
