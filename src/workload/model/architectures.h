// The architectures that are read: their model_type, their reader, and what of a config it knows beside
// dense layers with attention.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/model/config_families.h"

namespace flopcast::workload {

/// What a config may describe beside dense layers with attention.
enum Feature : unsigned { kExperts = 1, kLatent = 2, kSparse = 4, kRecurrent = 8 };

/// A type with a reader of its own, or a row of the families' table.
struct Architecture {
  std::string_view type;  ///< model_type of the config
  unsigned features = 0;  ///< Features that the reader knows, added up
  void (*reader)(Fields& fields, Model& model) = nullptr;
  const Family* family = nullptr;
  void read(Fields& fields, Model& model) const;
};

/// All of them by type.
const std::vector<Architecture>& architectures();
/// Null where it is not known.
const Architecture* find_architecture(std::string_view type);

/// "LlamaForCausalLM" is "llama"; what is no class of a known type is itself.
std::string type_of_class(std::string name);

/// How a config of an unknown type may be read all the same, and what is to be said of it.
struct Kinship {
  const Architecture* known = nullptr;
  std::string note;
  std::vector<std::string> foreign;  ///< fields that llama has not, where that is why there is none
};
/// By the class that the config names, or as llama where it has all of its fields and no others: an activation that
/// gates and a norm by squares among them, which tell llama from what only resembles it (Apertus).
Kinship find_kin(const nlohmann::json& object, const std::string& type);

/// What the config demands and `features` lacks, as the error: "SUBJECT experts (num_experts)", with the
/// types that have it all.
std::optional<Diagnostic> lacking_feature(const nlohmann::json& object, unsigned features,
                                          const std::string& subject, const std::string& where);

}  // namespace flopcast::workload
