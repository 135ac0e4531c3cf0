#include "live/standin/math/submit.h"

#include <algorithm>
#include <cstdio>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {

void submit(void* stream, std::string_view signature) {
  Work work{record_on(stream, Act::kKernel)};
  work.record.duration_ns = 3 * kCallNs;
  work.record.signature = Link::get().number(signature);
  work.record.word[0] = work.record.word[1] = 1;
  put(stream, std::move(work));
}

void submit_memory(void* stream, double read, double written, const char* name) {
  char text[160];
  std::snprintf(text, sizeof text, "memory %.0f %.0f %s", read, written, name);
  submit(stream, text);
}

void submit_gemm(void* stream, const char* type, std::int64_t m, std::int64_t n, std::int64_t k,
                 std::int64_t batch, const char* name) {
  if (m == 0 || n == 0 || k == 0 || batch == 0) return;
  char text[160];
  std::snprintf(text, sizeof text, "gemm %s %lld %lld %lld %lld %s", type,
                static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
                static_cast<long long>(batch), name);
  submit(stream, text);
}

}  // namespace flopcast::live
