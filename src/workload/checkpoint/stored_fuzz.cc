// Any bytes are what a checkpoint says of its weights: read, or told as not understood.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/fuzz_target.h"
#include "workload/checkpoint/stored.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast::workload;
  static const flopcast::Model model = *flopcast::load_model("deepseek-v3");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return 0;
  for (const auto& stored : {read_stored(document, model), read_modelopt(document, model)}) {
    flopcast::test::check(stored.quantised() || stored == flopcast::StoredPrecision{});
  }
  return 0;
}
