#include "live/engine/session/folding.h"

#include <algorithm>

#include "live/wire/ranks.h"

namespace flopcast::live {

std::string text_of(const Folding& folding) {
  if (folding.alone) return "alone";
  std::vector<std::int32_t> there;
  std::vector<std::vector<std::int32_t>> alike;
  for (std::size_t rank = 0; rank < folding.alike.size(); ++rank) {
    const std::size_t number = folding.alike[rank];
    if (folding.there[rank]) there.push_back(static_cast<std::int32_t>(rank));
    alike.resize(std::max(alike.size(), number + 1));
    alike[number].push_back(static_cast<std::int32_t>(rank));
  }
  std::string text = text_of_ranks(there);
  for (const std::vector<std::int32_t>& ranks : alike) text += '|' + text_of_ranks(ranks);
  return text;
}

}  // namespace flopcast::live
