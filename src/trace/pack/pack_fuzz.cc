// Any bytes as the unpacked content of a block, or of an index: refused, or rows that every later step can
// take. What is packed again then is the same. The checksums of packs would keep all this from being met.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/pack/columns.h"
#include "support/fuzz_target.h"
#include "trace/kineto/reader.h"
#include "trace/pack/block.h"
#include "trace/pack/index.h"
#include "trace/raw/append.h"
#include "trace/raw/finish.h"
#include "trace/trace_dump.h"

namespace {

using namespace flopcast::trace;

void check_block(std::string_view content) {
  const auto block = unpacked_block(compressed(content));
  if (!block) return;
  const auto again = unpacked_block(packed_block(*block));
  flopcast::test::check(again && packed_block(*again) == packed_block(*block));
  RawTrace raw;
  append_rows(*block, raw);
  append_rows(*again, raw);
  flopcast::TraceSet set;
  set.traces = finish_traces(raw);
  for (flopcast::Trace& trace : set.traces) {
    adopt_strings(trace, raw.strings, set.strings);
    check_trace(trace, set.strings);
  }
  flopcast::test::check(!dump_set(set, true).empty());
}

void check_index(std::string_view content) {
  const auto index = unpacked_index(compressed(content));
  if (!index) return;
  const auto again = unpacked_index(packed_index(*index));
  flopcast::test::check(again && packed_index(*again) == packed_index(*index));
}

}  // namespace

FUZZ_TARGET(data, size) {
  if (size == 0) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] == 'i' ? check_index(content) : check_block(content);
  return 0;
}
