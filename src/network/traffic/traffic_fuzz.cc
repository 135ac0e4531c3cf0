// Any bytes are traffic or one error; rows wait for earlier rows only.
#include <cstddef>
#include <cstdint>

#include "flopcast/network/traffic.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const auto rows =
      flopcast::parse_traffic(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!rows) return 0;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    for (const std::uint32_t earlier : (*rows)[i].after) {
      flopcast::test::check(earlier < i);
    }
  }
  return 0;
}
