// Signatures are written by the stand-ins from what a program hands them: any text has a price, and one that the clock
// of a run can hold.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "flopcast/cost.h"
#include "flopcast/hardware.h"
#include "live/engine/pricing/kernels.h"
#include "support/fuzz_target.h"

namespace {

flopcast::Machine h100() {
  const auto& catalog = flopcast::Catalog::builtin();
  return std::move(*flopcast::Machine::of(*catalog.chip("h100-sxm"), catalog));
}

}  // namespace

/// The first two bytes are the threads, by powers of two; the rest is the text.
FUZZ_TARGET(data, size) {
  using namespace flopcast;  // NOLINT(google-build-using-namespace): the subject of the file
  static std::optional<live::KernelPrices> prices;
  static unsigned texts = 0;
  if (size < 2) return 0;
  if (texts++ % 64 == 0) prices.emplace(h100());  // they remember and add up
  const std::uint64_t threads = std::uint64_t{data[0]} << data[1] % 53;
  const Time price = prices->price({reinterpret_cast<const char*>(data) + 2, size - 2}, threads);
  test::check(price >= Time{} && price <= Time::from_us(std::int64_t{86400} * 1'000'000));
  return 0;
}
