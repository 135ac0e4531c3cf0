// Any bytes, read as a trace through a tiny window and through a large one: no crash, no hang, and
// the same result from both.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "support/fuzz_target.h"
#include "trace/kineto/reader.h"
#include "trace/trace_dump.h"

namespace {

std::string result(std::string_view text, const flopcast::ReadOptions& options,
                   std::size_t window) {
  const auto set = flopcast::trace::read_trace_text_in_windows(text, "fuzz", options,
                                                               {window, std::size_t{1} << 24});
  return set ? flopcast::trace::dump_set(*set, true) : set.error().text();
}

}  // namespace

FUZZ_TARGET(data, size) {
  if (size == 0) return 0;
  flopcast::ReadOptions options;
  options.keep_python = (data[0] & 1) != 0;
  const std::size_t tiny = 16 + data[size - 1] % 64;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string in_pieces = result(text, options, tiny);
  const std::string in_one = result(text, options, std::size_t{1} << 20);
  if (in_pieces != in_one) {
    std::fprintf(stderr, "window of %zu:\n%s\nwhole:\n%s\n", tiny, in_pieces.c_str(),
                 in_one.c_str());
  }
  flopcast::test::check(in_pieces == in_one);
  return 0;
}
