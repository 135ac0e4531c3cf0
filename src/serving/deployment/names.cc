#include <array>

#include "base/text/names.h"
#include "flopcast/serving.h"

namespace flopcast {
namespace {

constexpr std::array<std::string_view, 3> kEngineNames = {"vllm", "sglang", "trtllm"};

}  // namespace

std::string_view name(ServingEngine engine) {
  return kEngineNames[static_cast<std::size_t>(engine)];
}

std::optional<ServingEngine> parse_serving_engine(std::string_view text) {
  const std::string key = name_key(text);
  if (key == "tensorrtllm") return ServingEngine::kTensorRtLlm;
  for (std::size_t i = 0; i < kEngineNames.size(); ++i) {
    if (kEngineNames[i] == key) return static_cast<ServingEngine>(i);
  }
  return std::nullopt;
}

}  // namespace flopcast
