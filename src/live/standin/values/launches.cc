#include "live/standin/values/launches.h"

#include <cstring>
#include <utility>

#include "live/standin/values/late.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {

namespace {

Effect tainting(std::vector<const void*> words) {
  if (words.empty()) return {};
  return [written = std::move(words)] {
    for (const void* const word : written) {
      settle_bytes(word, 1);
      Validity::get().taint_from(word);
    }
  };
}

}  // namespace

Effect effect_of_writes(const std::vector<std::int64_t>& addresses) {
  if (operator_inside() || !values_move()) return {};
  std::vector<const void*> words;
  for (const std::int64_t address : addresses)
    words.push_back(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)));
  return tainting(std::move(words));
}

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
  return tainting(std::move(words));
}

}  // namespace flopcast::live
