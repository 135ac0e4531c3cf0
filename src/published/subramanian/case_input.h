// Reads the inputs of one case of expected values.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "flopcast/published/subramanian.h"

namespace flopcast::published {

/// Members of a JSON object; what is missing or of another type is noted, and stands in as 0.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string& problem) : json_(&object), problem_(&problem) {}

  bool has(const char* key) const;
  Fields object(const char* key) const;
  const nlohmann::json& array(const char* key) const;
  double number(const char* key) const;
  std::int64_t integer(const char* key) const;
  std::int64_t integer_or(const char* key, std::int64_t missing) const;
  std::string text(const char* key) const;
  const nlohmann::json& raw() const { return *json_; }

 private:
  const nlohmann::json* find(const char* key, bool (*is)(const nlohmann::json&)) const;

  const nlohmann::json* json_;
  std::string* problem_;
};

PaperSystem read_system(const Fields& system, std::string name);
/// strategy, model, system, global_batch.
PaperCase read_case(const Fields& input, const PaperDefects& defects, std::string& problem);
/// parallel {n1, n2, np, nd, bm, nb} and nvs_assignment {nvs_1, nvs_2, nvs_p, nvs_d}.
PaperPlan read_plan(const Fields& holder);

}  // namespace flopcast::published
