#include "base/numeric/mix.h"

#include <algorithm>
#include <numeric>

namespace flopcast {

std::vector<std::size_t> sample_rows(std::size_t rows, std::size_t most) {
  std::vector<std::size_t> index(rows);
  std::iota(index.begin(), index.end(), 0U);
  if (rows <= most) return index;
  std::sort(index.begin(), index.end(),
            [](std::size_t a, std::size_t b) { return mix(a) < mix(b); });
  index.resize(most);
  std::sort(index.begin(), index.end());
  return index;
}

}  // namespace flopcast
