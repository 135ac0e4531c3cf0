// Any bytes as a table of measured kernels; what is read is fitted.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "flopcast/cost/fit.h"
#include "support/fuzz_target.h"

using flopcast::test::check;

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const Result<KernelSamples> samples =
      parse_kernel_samples(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!samples) {
    check(!samples.error().what.empty());
    return 0;
  }
  for (const KernelSample& row : samples->rows) check(row.time.value > 0);
  if (samples->rows.size() > 40) return 0;  // fits are for tests; this is about reading
  static const Chip chip = *Catalog::builtin().chip("h100");
  const KernelModel model = KernelModel::make(chip, calibrate_kernels(chip, samples->rows, "fuzz"));
  for (const KernelSample& row : samples->rows) {
    const KernelTime forecast = model.time(row.kernel);
    check(std::isfinite(forecast.time.value) && forecast.time >= forecast.roofline);
  }
  return 0;
}
