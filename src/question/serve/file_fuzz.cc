// Questions about serving as they lie in files: any text is one, or an error.
#include <cstdint>
#include <string_view>

#include "flopcast/question/serve.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(flopcast::parse_serve_file(text, "fuzz", "folder"));
  return 0;
}
