// Questions about serving as they lie in files: any text is one, or an error.
#include <cstdint>
#include <string_view>

#include "flopcast/question/serve.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(flopcast::parse_serve_file(text, "fuzz", "folder"));
  return 0;
}
