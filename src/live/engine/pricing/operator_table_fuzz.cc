// A file of operators is read or refused with its place, and what it says of a call is a number.
#include <cmath>
#include <string_view>

#include "live/engine/pricing/operator_kernels.h"
#include "support/fuzz_target.h"

namespace {

constexpr std::string_view kCall =
    "my::op q=bf16:96x32x128,k=fp8:40x16x8x128,cu=i32:4@0+32^3;100,late=i32:2,causal=#1 =0,fp32:7 "
    "500 k";

}  // namespace

FUZZ_TARGET(data, size) {
  using namespace flopcast;  // NOLINT(google-build-using-namespace): the subject of the file
  const auto table =
      live::OperatorTable::parse({reinterpret_cast<const char*>(data), size}, "my.toml");
  if (!table) {
    test::check(table.error().where.starts_with("my.toml"));
    return 0;
  }
  const auto call = live::parse_operator_call(kCall);
  const live::OperatorWork work = live::work_of(*call, false, *table);
  const double bytes = kernel_bytes(work.kernel).value;
  test::check(std::isfinite(bytes) && bytes >= 0);
  for (const auto& part : work.products) test::check(std::isfinite(part.share) && part.share >= 0);
  return 0;
}
