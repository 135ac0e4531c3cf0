// Tables come from users' files: any text is read or refused, and what is read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/live/host.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;  // NOLINT(google-build-using-namespace): the subject of the file
  const auto table =
      HostTable::parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  test::check(!table || HostTable::parse(table->toml("fuzz"), "again"));
  return 0;
}
