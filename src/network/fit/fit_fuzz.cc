// Fits come from users' files: any text is read or refused, and what is read answers.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/network/fit.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;  // NOLINT(google-build-using-namespace): the subject of the file
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<CollectiveFit> fit = CollectiveFit::parse(text, "fuzz");
  if (!fit) return 0;
  for (const std::string& system : fit->systems()) {
    for (const unsigned ranks : {2U, 8U}) {
      const CollectiveCase what{system, "NCCL", "", "", CollectiveOp::kAllReduce, ranks, 1};
      const auto curve = fit->curve(what);
      test::check(!curve || curve->time({1e6}).value >= 0);
    }
  }
  return 0;
}
