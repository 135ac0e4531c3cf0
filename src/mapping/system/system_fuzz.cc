// Any bytes as a system: text, topology, memory, link and changes, a line each. A system that is
// accepted has chips, a peak, memory and a price; what is refused says what to do.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/mapping.h"
#include "support/fuzz_target.h"

namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view text = take_line(rest);
  SystemOptions options;
  options.topology = take_line(rest);
  options.memory = take_line(rest);
  options.link = take_line(rest);
  while (!rest.empty()) options.changes.emplace_back(take_line(rest));
  const auto system = mapping_system(text, options, Catalog::builtin());
  if (!system) {
    test::check(!system.error().what.empty());
    return 0;
  }
  test::check(system->chips() != 0 && system->peak.value > 0 && system->sram.value > 0);
  test::check(system_price(*system) >= 0 && system_power(*system) >= 0);
  return 0;
}
