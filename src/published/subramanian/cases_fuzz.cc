// Any bytes are a file of expected values or one error; a case that cannot be read or computed is a
// failed check, and the numbers of those that can are sound.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "flopcast/published/cases.h"
#include "published/subramanian/case_input.h"
#include "support/fuzz_target.h"

namespace {

using namespace flopcast;

/// A search of so many plans that it would take seconds.
bool long_search(const nlohmann::json& item) {
  constexpr std::int64_t kLargest = 4096;
  std::string problem;
  const published::Fields fields(item, problem);
  if (fields.text("kind") != "search") return false;
  const published::Fields input = fields.object("input");
  const published::Fields system = input.object("system");
  return input.integer("n_gpus") > kLargest || input.integer("global_batch") > kLargest ||
         system.integer("nvlink_size") > kLargest;
}

void check_case(const nlohmann::json& item) {
  std::string problem;
  const published::Fields fields(item, problem);
  const published::Fields input = fields.object("input");
  const PaperCase c = published::read_case(input, PaperDefects::published(), problem);
  const PaperPlan plan = published::read_plan(input);
  const Result<PaperEstimate> found = paper_estimate(c, plan);
  const Result<std::vector<PaperOperator>> operators = paper_operators(c, plan);
  test::check(found.ok() == operators.ok());
  if (!found) return;
  test::check(found->time.value >= 0 && found->memory.value >= 0);
  test::check(found->microbatches >= 1 && plan.gpus() >= 1);
}

}  // namespace

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_object() && document.contains("cases") && document["cases"].is_array()) {
    for (const nlohmann::json& item : document["cases"]) {
      if (long_search(item)) return 0;
      check_case(item);
    }
  }
  const auto validation = validate_paper_cases(text, "input", 1);
  if (!validation) return 0;
  test::check(validation->published.size() == validation->repaired.size());
  for (const PaperCheck& one : validation->published) {
    test::check(!one.failure || !one.failure->what.empty());
  }
  return 0;
}
