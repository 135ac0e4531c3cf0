// Any bytes are a file of expected values or one error. Every number of a file that is read is counted
// exactly once, compared or not; a number compared with itself does not differ.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "published/dfmodel/sections.h"
#include "support/fuzz_target.h"

namespace {

using namespace flopcast;
using namespace flopcast::published;

/// Numbers down to `depth` levels below.
std::uint64_t numbers_in(const nlohmann::json& json, int depth) {
  if (json.is_number()) return 1;
  std::uint64_t count = 0;
  if (depth == 0 || !json.is_structured()) return 0;
  for (const nlohmann::json& child : json) count += numbers_in(child, depth - 1);
  return count;
}

void compare_first_level(Comparison& file, const nlohmann::json& json) {
  for (const auto& [key, value] : json.items()) {
    const Expected section = file.section(key);
    for (std::size_t i = 0; i < section.size(); ++i) {
      if (const auto number = section.at(i).number()) file.check(key, "", section.at(i), *number);
    }
  }
}

}  // namespace

FUZZ_TARGET(data, size) {
  constexpr int kShallow = 16;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<nlohmann::json> file = parse_expected(text, "input");
  if (!file) {
    test::check(!file.error().what.empty() && !file.error().where.empty());
    return 0;
  }
  Comparison own(*file);
  compare_first_level(own, *file);
  const PublishedValidation same = std::move(own).finish();
  test::check(same.max_rel() == 0);
  std::uint64_t counted = same.checks.size();
  for (const PublishedGap& gap : same.unchecked) counted += gap.numbers;
  test::check(counted >= numbers_in(*file, kShallow));

  Comparison catalogue(*file);
  PublishedResults results(Catalog::builtin(), 1);
  check_accelerators(catalogue, results);
  check_memory(catalogue, results);
  check_power_fit(catalogue, results);
  const PublishedValidation validation = std::move(catalogue).finish();
  test::check(validation.max_rel() >= 0);
  return 0;
}
