#include "live/standin/values/launches.h"

#include <cstring>
#include <utility>

#include "live/standin/values/late.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {

Effect effect_of_launch(const std::vector<std::size_t>& sizes, void* const* arguments) {
  if (!arguments || operator_inside() || !values_move()) return {};
  // A structure may hold several pointers, each at a multiple of its size.
  std::vector<const void*> words;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t at = 0; at + sizeof(void*) <= sizes[i]; at += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, static_cast<const char*>(arguments[i]) + at, sizeof word);
      if (word) words.push_back(word);
    }
  }
  if (words.empty()) return {};
  return [written = std::move(words)] {
    for (const void* const word : written) {
      settle_bytes(word, 1);
      Validity::get().taint_from(word);
    }
  };
}

}  // namespace flopcast::live
