// Any bytes are a sweep or one error; what is read holds values that are read again as themselves.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/mapping/explore.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto axis = parse_explore_sweep(text);
  if (!axis) {
    test::check(!axis.error().what.empty() && !axis.error().hint.empty());
    return 0;
  }
  test::check(!axis->values.empty() && axis->values.size() <= 1000);
  for (const std::string& value : axis->values) {
    const auto again = parse_explore_sweep(axis->name + "=" + value);
    test::check(again && again->values == std::vector<std::string>{value});
  }
  return 0;
}
