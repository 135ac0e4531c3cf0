// High-performance Linpack as a chain of GEMMs. With s = n - i b rows left, iteration i does
// 2 s^2 b FLOP: out[s, b] summed over s, as the published generator writes it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/dataflow/builder.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

std::int64_t iterations_of(const HplShape& shape) {
  const std::int64_t all = (shape.n + shape.block - 1) / shape.block;
  return shape.iterations > 0 ? std::min(shape.iterations, all) : all;
}

/// Iterations first .. last - 1 as one kernel. The sum runs over as many elements as makes its work
/// theirs to half an element.
DataflowKernel gathered(const HplShape& shape, std::int64_t first, std::int64_t last) {
  double squares = 0;
  Bytes panels;
  for (std::int64_t i = first; i < last; ++i) {
    const auto left = static_cast<double>(shape.n - i * shape.block);
    squares += left * left;
    panels += Bytes{left * static_cast<double>(shape.block) * shape.word};
  }
  DataflowKernel kernel;
  kernel.name =
      last == first + 1 ? fmt::format("lu_{}", first) : fmt::format("lu_{}_{}", first, last - 1);
  kernel.kind = DataflowKind::kPanel;
  kernel.m = shape.n - first * shape.block;
  kernel.n = shape.block;
  kernel.k = static_cast<std::int64_t>(std::llround(squares / static_cast<double>(kernel.m)));
  kernel.k = std::max<std::int64_t>(kernel.k, 1);
  kernel.batch = KernelDimension::kOuter;
  kernel.tiled = KernelDimension::kM;
  kernel.transfers = {{DataflowTransferKind::kBroadcast, panels},
                      {DataflowTransferKind::kPointToPoint, panels}};
  return kernel;
}

/// The first iteration of each kernel, and their number at the end: runs of about equal work.
std::vector<std::int64_t> cuts(const HplShape& shape, std::int64_t iterations) {
  const std::int64_t kernels = std::min(std::max<std::int64_t>(shape.most_kernels, 1), iterations);
  const auto square = [&shape](std::int64_t i) {
    const auto left = static_cast<double>(shape.n - i * shape.block);
    return left * left;
  };
  double all = 0, done = 0;
  for (std::int64_t i = 0; i < iterations; ++i) all += square(i);
  std::vector<std::int64_t> starts{0};
  for (std::int64_t i = 0; i < iterations; ++i) {
    done += square(i);
    const auto made = static_cast<std::int64_t>(starts.size());
    const bool enough = done >= all * static_cast<double>(made) / static_cast<double>(kernels);
    const bool as_many_left = iterations - (i + 1) == kernels - made;
    if (made < kernels && i + 1 < iterations && (enough || as_many_left)) starts.push_back(i + 1);
  }
  starts.push_back(iterations);
  return starts;
}

}  // namespace

DataflowGraph hpl(const HplShape& shape) {
  DataflowBuilder builder(fmt::format("hpl {}", shape.n));
  const std::vector<std::int64_t> starts = cuts(shape, iterations_of(shape));
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    DataflowKernel kernel = gathered(shape, starts[i], starts[i + 1]);
    const Bytes panel{static_cast<double>(kernel.m) * static_cast<double>(kernel.n) * shape.word};
    const std::uint32_t id = builder.add(std::move(kernel), panel);
    if (i > 0) builder.feed(id - 1, id, Operand::kRight);
  }
  return builder.finish();
}

}  // namespace flopcast
