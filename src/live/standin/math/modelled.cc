// Linear algebra as work: the operations that textbooks count (Golub and Van Loan, Matrix Computations, 4th edition), as
// one product of the matrix's sizes; what has no more operations than elements, as bytes.
#include "live/standin/api/modelled.h"

#include <algorithm>
#include <string_view>

#include "live/standin/math/blas.h"
#include "live/standin/math/submit.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

/// cudaDataType_t of pairs of numbers: an operation is four of theirs.
bool is_complex(int type) { return type == 4 || type == 5 || type == 6 || type == 15; }

double bytes_of_element(int type) {
  switch (type) {
    case 1:  // of 64 bits
    case 4:  // two of 32
      return 8;
    case 5:
      return 16;
    case 2:
    case 14:
      return 2;
    default:
      return 4;
  }
}

/// Multiplications with additions of one matrix; negative: it is a matter of bytes.
double operations(const FlopcastWork& work) {
  const auto m = static_cast<double>(work.m), n = static_cast<double>(work.n),
             k = static_cast<double>(work.k);
  const double small = std::min(m, n), large = std::max(m, n);
  const std::string_view what = work.work;
  const auto is = [what](std::string_view name) { return what == name; };
  if (is("triangular")) return m * n * (work.side == 0 ? m : n) / 2;
  if (is("symmetric")) return m * n * (work.side == 0 ? m : n);
  if (is("rank-update")) return n * n * k / 2;
  if (is("lu")) return small * small * (large - small / 3) / 2;
  if (is("inverse")) return 2 * n * n * n / 3;
  if (is("solve")) return n * n * k;
  if (is("cholesky")) return n * n * n / 6;
  if (is("qr")) return small * small * (large - small / 3);
  if (is("reflectors")) return 2 * m * n * k - k * k * (m + n - 2 * k / 3);
  if (is("singular")) return 2 * large * large * small + 11 * small * small * small;
  if (is("eigen")) return 9 * n * n * n / 2;
  if (is("blocks")) return m * k * k * n;
  return -1;
}

void submit_moved(const FlopcastWork& work) {
  const double element = bytes_of_element(work.type);
  const auto m = static_cast<double>(work.m), n = static_cast<double>(work.n);
  const bool vector = std::string_view(work.work) == "vector";
  const double read = (vector ? 2 * n : m * n) * element;
  submit_memory(stream_of_library(work.handle), read, (vector || work.times > 1 ? n : m) * element,
                work.name);
}

/// A product of the matrix's sizes with as many operations.
void submit_operations(const FlopcastWork& work, double count) {
  const double factor = is_complex(work.type) ? 4 : 1;
  const std::int64_t rows = std::max<std::int64_t>(1, std::max(work.m, work.n));
  const std::int64_t columns = std::max<std::int64_t>(1, work.n);
  const auto area = static_cast<double>(rows) * static_cast<double>(columns);
  const double inner = std::max(1.0, factor * work.times * count / area);
  submit_gemm(stream_of_library(work.handle), gemm_type_word(work.type, 0), rows, columns,
              static_cast<std::int64_t>(inner), work.batch, work.name);
}

}  // namespace
}  // namespace flopcast::live

int flopcast_modelled(const FlopcastWork& work) {
  using namespace flopcast::live;
  if (std::string_view(work.work) == "gemm") {
    const std::int64_t inner = is_complex(work.type) ? 4 * work.k : work.k;
    submit_gemm(stream_of_library(work.handle), gemm_type_word(work.type, 0), work.m, work.n, inner,
                work.batch, work.name);
  } else if (const double count = operations(work); count >= 0) {
    submit_operations(work, count);
  } else {
    submit_moved(work);
  }
  if (work.now) *work.now = 0;
  if (work.info) {
    // Nothing is singular: what is factored was never computed.
    const auto count = static_cast<std::size_t>(std::max(0L, work.batch));
    put(stream_of_library(work.handle),
        {.record = record_on(stream_of_library(work.handle), Act::kNothing),
         .effect = [info = work.info, count] { std::fill_n(info, count, 0); }});
  }
  return 0;
}
