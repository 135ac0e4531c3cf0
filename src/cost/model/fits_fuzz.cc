// Any bytes as a fit file; what is accepted is asked for times.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/cost/fit.h"
#include "support/fuzz_target.h"

using flopcast::test::check;

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<KernelFit> fit = KernelFit::parse(text, "fuzz");
  if (!fit) {
    check(!fit.error().what.empty());
    return 0;
  }
  check(static_cast<bool>(KernelFit::parse(fit->toml(), "again")));
  static const Chip chip = *Catalog::builtin().chip("h100");
  const KernelModel model = KernelModel::make(chip, *fit);
  const Kernel kernels[] = {Gemm{3, 4097, 4096},
                            Gemm{16, 4096, 4096, 1, GemmType::kFp8},
                            Attention{1, 1024, 1024, 32, 8},
                            Attention{8, 1, 5000, 32, 8},
                            GroupedGemm{100, 4096, 1536, 8, 128, 1, 8},
                            MemoryBound{MemoryOp::kRmsNorm, 4096, 4096}};
  for (const Kernel& kernel : kernels) {
    const KernelTime t = model.time(kernel);
    check(t.time >= t.roofline && t.low <= t.time && t.time <= t.high);
    check(!std::isnan(t.time.value));
  }
  return 0;
}
