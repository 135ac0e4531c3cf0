// Libraries are those of the user's PyTorch: any bytes are read or refused, in time and memory of their size.
#include <cstddef>
#include <cstdint>

#include "live/start/setup/elf.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const auto symbols =
      flopcast::live::dynamic_symbols({reinterpret_cast<const char*>(data), size}, "fuzz");
  flopcast::test::check(!symbols || symbols->size() <= size);
  return 0;
}
