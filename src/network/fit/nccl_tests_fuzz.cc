// Logs of nccl-tests come from users' terminals: any text is read or refused, and what is read makes sense.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "network/fit/nccl_tests.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  flopcast::Anomalies anomalies;
  const auto samples = flopcast::network::parse_nccl_tests(text, "fuzz", anomalies);
  if (!samples) return 0;
  flopcast::test::check(!samples->empty() && flopcast::network::is_nccl_tests(text));
  for (const flopcast::CollectiveSample& sample : *samples) {
    const bool sound = sample.size.value > 0 && sample.time.value > 0 && sample.what.ranks >= 2 &&
                       sample.what.nodes >= 1 && sample.what.nodes <= sample.what.ranks;
    flopcast::test::check(sound);
  }
  return 0;
}
