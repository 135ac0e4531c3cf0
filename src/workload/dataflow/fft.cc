// A large FFT as GEMMs, one per dimension, and between them an all-to-all that turns the array.
#include <fmt/format.h>

#include <cmath>

#include "workload/dataflow/builder.h"

namespace flopcast {

using namespace workload;  // the room's own names

DataflowGraph fft(const FftShape& shape) {
  const int stages = shape.dimensions == 3 ? 3 : 2;
  const auto side = static_cast<double>(shape.side);
  const auto radix = static_cast<double>(shape.radix);
  const Bytes array{std::pow(side, stages) * shape.word};
  DataflowBuilder builder(fmt::format("fft {}-D {}", shape.dimensions, shape.side));
  for (int stage = 0; stage < stages; ++stage) {
    DataflowKernel kernel;
    kernel.name = fmt::format("fft_{}", stage + 1);
    kernel.kind = DataflowKind::kFft;
    kernel.outer = stages == 3 ? shape.side : 1;
    kernel.m = kernel.n = shape.side;
    // log2(side) / log2(radix) passes of radix x radix complex products: 4 real ones each.
    kernel.k = static_cast<std::int64_t>(4 * std::log2(side) / std::log2(radix) * radix);
    kernel.k = kernel.k > 0 ? kernel.k : 1;
    kernel.batch = KernelDimension::kOuter;
    kernel.tiled = KernelDimension::kM;
    if (stage > 0) kernel.transfers = {{DataflowTransferKind::kAllToAll, array}};
    const std::uint32_t id = builder.add(std::move(kernel), array);
    if (stage > 0) builder.feed(id - 1, id, Operand::kRight);
  }
  return builder.finish();
}

}  // namespace flopcast
